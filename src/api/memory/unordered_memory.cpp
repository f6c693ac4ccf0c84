// api/memory/unordered_memory.cpp - memory in no stream's order, given back when nothing uses it.
#include <weir/detail/unordered_memory.hpp>

#include "api/core/check.hpp"
#include "api/core/first_failure.hpp"
#include "api/memory/free_when_unused.hpp"
#include "api/core/may_wait.hpp"
#include "api/capture/refuse_in_capture.hpp"
#include "api/capture/relaxed_captures.hpp"
#include "api/memory/use_list.hpp"

#include <memory>
#include <utility>

namespace weir::detail {

unordered_memory::unordered_memory(unordered_memory&& other) noexcept : end_{other.end_}, owner_{other.owner_} {
  take(other);
}

unordered_memory& unordered_memory::operator=(unordered_memory&& other) noexcept {
  if (this == &other) return *this;
  const unordered_memory old{std::move(*this)};
  take(other);
  end_ = other.end_;
  owner_ = other.owner_;
  return *this;
}

unordered_memory::~unordered_memory() {
  if (closed()) return;
  free_when_unused(std::unique_ptr<use_list>{uses_},
                   [address = address_, end = end_, owner = owner_](first_failure failure) {
                     end->run(address, owner, failure);
                     check_unraised(failure, subject::memory(address));
                   });
}

void unordered_memory::close(call_site at) {
  if (closed()) return;
  const subject on = subject::memory(address_);
  permit(end_->call, on, at);
  may_wait(end_->call, at);
  if (uses_ != nullptr) {
    if (const CUstream busy = uses_->capturing(); busy != nullptr) refuse_in_capture(busy, end_->call, at);
  }
  const relaxed_captures unharmed{at};
  void* const address = address_;
  first_failure failure;
  if (const std::unique_ptr<use_list> uses{uses_}) uses->sync(failure);
  forget();
  end_->run(address, owner_, failure);
  check(failure, on, at);
}

}  // namespace weir::detail
