// api/deferred/keep_until_idle.cpp - owners that live until the work that a stream is being given
// is done.
#include "api/deferred/keep_until_idle.hpp"

#include "api/core/first_failure.hpp"
#include "api/deferred/release_when_idle.hpp"

#include <utility>

namespace weir::detail {

void keep_until_idle::keep(keep_alive_ref owner) {
  owners_.reserve(owners_.size() + 1);
  if (uses_ == nullptr) {
    auto uses = std::make_shared<pending_uses>();
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
