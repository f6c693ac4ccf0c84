// SPDX-License-Identifier: Apache-2.0
// api/memory/tracked_memory.cpp - memory that tracks the streams that use it.
#include <weir/detail/tracked_memory.hpp>

#include "api/core/check.hpp"
#include "api/device/make_current.hpp"
#include "api/memory/pending_uses.hpp"
#include "api/stream/host_failures.hpp"

#include <atomic>
#include <span>

namespace weir::detail {
namespace {

// Returns the list of uses in `slot`. The thread that needs it first creates it; other threads may
// do so concurrently, and one list is kept.
pending_uses& uses_of(pending_uses*& slot) {
  const std::atomic_ref<pending_uses*> shared{slot};
  pending_uses* uses = shared.load(std::memory_order_acquire);
  if (uses != nullptr) return *uses;
  pending_uses* const created = new pending_uses;
  if (shared.compare_exchange_strong(uses, created, std::memory_order_acq_rel)) return *created;
  delete created;
  return *uses;
}

}  // namespace

void tracked_memory::move_from(tracked_memory& other) noexcept {
  *this = other;
  other.reset();
}

void tracked_memory::reset() noexcept { *this = tracked_memory{}; }

bool tracked_memory::is_untracked_on_default(stream_ref s, call_site at) const {
  if (untracked_default_stream_ == closed_handle<CUstream_st>() ||
      s != stream_ref{untracked_default_stream_})
    return false;
  if (s.get() == CU_STREAM_PER_THREAD && per_thread_owner_ != unique_thread_id()) return false;
  return current_context_handle(at) == device_context_;
}

bool tracked_memory::register_use(stream_ref s, call_site at) const {
  require_open(s, "weir::used_on", at);
  if (closed()) throw_closed("weir::used_on", subject::memory(address_), at);
  if (is_untracked_on(s) || is_untracked_on_default(s, at)) return false;
  // untracked_streams_ has two elements. For device memory, the first one is reserved for the
  // stream that the memory belongs to. Other memory, such as pinned memory, belongs to no stream
  // and uses both elements for streams that the list holds.
  const std::span<CUstream_st*> untracked_streams = untracked_streams_;
  return !uses_of(uses_).register_stream(
      s.get(), device_context_ != nullptr ? untracked_streams.last(1) : untracked_streams, at);
}

void tracked_memory::record_use(stream_ref s, call_site at) const {
  uses_of(uses_).record(s.get(), at);
}

}  // namespace weir::detail
