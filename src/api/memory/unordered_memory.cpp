// SPDX-License-Identifier: Apache-2.0
// api/memory/unordered_memory.cpp - memory that belongs to no stream, freed when no stream uses it.
#include <weir/detail/unordered_memory.hpp>

#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/check.hpp"
#include "api/core/first_failure.hpp"
#include "api/core/sync_allowed.hpp"
#include "api/deferred/release_when_idle.hpp"
#include "api/memory/pending_uses.hpp"

#include <memory>
#include <utility>

namespace weir::detail {

unordered_memory::unordered_memory(unordered_memory&& other) noexcept
    : deleter_{other.deleter_}, owner_{other.owner_} {
  move_from(other);
}

unordered_memory& unordered_memory::operator=(unordered_memory&& other) noexcept {
  if (this == &other) return *this;
  const unordered_memory old{std::move(*this)};
  move_from(other);
  deleter_ = other.deleter_;
  owner_ = other.owner_;
  return *this;
}

unordered_memory::~unordered_memory() {
  if (closed()) return;
  free_when_idle(
      [address = address_, deleter = deleter_, owner = owner_](first_failure failure) {
        deleter->run(address, owner, failure);
        report_if_failed(failure, subject::memory(address));
      },
      std::unique_ptr<pending_uses>{uses_});
}

void unordered_memory::close(call_site at) {
  if (closed()) return;
  const subject object = subject::memory(address_);
  require_outside_host_function(deleter_->call, object, at);
  require_sync_allowed(deleter_->call, at);
  if (uses_ != nullptr) {
    if (const CUstream busy = uses_->capturing_stream(); busy != nullptr)
      throw_if_capturing(busy, deleter_->call, at);
  }
  const relaxed_capture_mode guard{at};
  void* const address = address_;
  first_failure failure;
  if (const std::unique_ptr<pending_uses> uses{uses_}) uses->sync(failure);
  reset();
  deleter_->run(address, owner_, failure);
  check(failure, object, at);
}

}  // namespace weir::detail
