// SPDX-License-Identifier: Apache-2.0
// api/deferred/release_when_idle.cpp - releases owners when the streams that use them are idle.
#include "api/deferred/release_when_idle.hpp"

#include <utility>

namespace weir::detail {

void release_when_idle(std::shared_ptr<pending_uses> first, std::shared_ptr<pending_uses> second,
                       std::vector<keep_alive_ref> owners) noexcept {
  auto release = [owners = std::move(owners)](const first_failure&) mutable {
    for (keep_alive_ref& each : owners) {
      keep_alive* const owner = each.release();
      if (owner != nullptr && keep_alive_ref::release_reference(*owner))
        defer_user_destructor(*owner);
    }
  };
  free_when_idle(std::move(release), std::move(first), std::move(second));
}

void keep_until_idle::keep(keep_alive_ref owner) {
  owners_.reserve(owners_.size() + 1);
  if (uses_ == nullptr) {
    auto uses = std::make_shared<pending_uses>();
    // The destructor calls record() whatever the result is.
    static_cast<void>(uses->register_stream(stream_.get(), {}, at_));
    uses_ = std::move(uses);
  }
  owners_.push_back(std::move(owner));
}

keep_until_idle::~keep_until_idle() {
  if (uses_ == nullptr) return;
  report_failure_of(stream_, "weir::cache_scope::keep", [&] { uses_->record(stream_.get(), at_); });
  release_when_idle(std::move(uses_), nullptr, std::move(owners_));
}

}  // namespace weir::detail
