// api/deferred/kept_until_done.cpp - owners that live until the work that a stream is being given is done.
#include "api/deferred/kept_until_done.hpp"

#include "api/core/first_failure.hpp"
#include "api/deferred/let_go_after.hpp"

#include <utility>

namespace weir::detail {

void kept_until_done::keep(owner_share owner) {
  owners_.reserve(owners_.size() + 1);
  if (uses_ == nullptr) {
    auto uses = std::make_shared<use_list>();
    static_cast<void>(uses->note(stream_.get(), {}, at_));
    uses_ = std::move(uses);
  }
  owners_.push_back(std::move(owner));
}

kept_until_done::~kept_until_done() {
  if (uses_ == nullptr) return;
  report_what_fails(stream_, "weir::cache_scope::keep", [&] { uses_->mark(stream_.get(), at_); });
  let_go_after(std::move(uses_), nullptr, std::move(owners_));
}

}  // namespace weir::detail
