// api/memory/tracked_memory.cpp - memory that remembers which streams it was used on.
#include <weir/detail/tracked_memory.hpp>

#include "api/core/check.hpp"
#include "api/stream/host_failures.hpp"
#include "api/device/make_current.hpp"
#include "api/memory/use_list.hpp"

#include <atomic>
#include <span>

namespace weir::detail {
namespace {

// The list, made by whichever thread needs it first.
use_list& made(use_list*& place) {
  const std::atomic_ref<use_list*> shared{place};
  use_list* known = shared.load(std::memory_order_acquire);
  if (known != nullptr) return *known;
  use_list* const mine = new use_list;
  if (shared.compare_exchange_strong(known, mine, std::memory_order_acq_rel)) return *mine;
  delete mine;
  return *known;
}

}  // namespace

void tracked_memory::take(tracked_memory& other) noexcept {
  address_ = other.address_;
  bytes_ = other.bytes_;
  device_context_ = other.device_context_;
  homes_[0] = other.homes_[0];
  homes_[1] = other.homes_[1];
  default_home_ = other.default_home_;
  home_thread_ = other.home_thread_;
  uses_ = other.uses_;
  other.forget();
}

void tracked_memory::forget() noexcept {
  address_ = closed_handle<void>();
  bytes_ = 0;
  device_context_ = nullptr;
  homes_[0] = homes_[1] = closed_handle<CUstream_st>();
  default_home_ = closed_handle<CUstream_st>();
  home_thread_ = 0;
  uses_ = nullptr;
}

bool tracked_memory::belongs_to_default(stream_ref s, call_site at) const {
  if (default_home_ == closed_handle<CUstream_st>() || s != stream_ref{default_home_}) return false;
  if (s.get() == CU_STREAM_PER_THREAD && home_thread_ != thread_number()) return false;
  return current_handle(at) == device_context_;
}

bool tracked_memory::note_use(stream_ref s, call_site at) const {
  usable(s, "weir::used_on", at);
  if (closed()) fail_closed("weir::used_on", subject::memory(address_), at);
  if (at_home_on(s) || belongs_to_default(s, at)) return false;
  // The first home of device memory is the stream that it belongs to; pinned memory belongs to none, and has both for
  // the streams that use it.
  const std::span<CUstream_st*> homes = homes_;
  return !made(uses_).note(s.get(), device_context_ != nullptr ? homes.last(1) : homes, at);
}

void tracked_memory::mark_use(stream_ref s, call_site at) const { made(uses_).mark(s.get(), at); }

}  // namespace weir::detail
