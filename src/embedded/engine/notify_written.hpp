// SPDX-License-Identifier: Apache-2.0
// embedded/engine/notify_written.hpp - notifies streams that wait for a value in memory of writes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir::embedded::engine {

// Number of timelines that wait for a value (value_waiters.hpp). A timeline is the sequence of
// operations of a stream. A writer checks the number first, so that a write costs one load while no
// timeline waits.
inline constinit std::atomic<std::uint32_t> value_waiter_count{0};

// Unparks timelines: lets each continue whose awaited word lies in these bytes and has the awaited
// value.
void notify_value_waiters(const void* address, std::size_t bytes) noexcept;

// Like notify_value_waiters(), for words at any address. Returns true if a timeline was unparked.
bool notify_all_value_waiters() noexcept;

// Call this from an operation after it has written these bytes. It may miss a timeline that begins
// to wait at this moment. The thread that polls for writes of the host (value_waiters.hpp) finds
// such a timeline.
inline void notify_written(const void* address, std::size_t bytes) noexcept {
  if (value_waiter_count.load(std::memory_order_relaxed) != 0) [[unlikely]]
    notify_value_waiters(address, bytes);
}

// Like notify_written(), for a write on which a waiting timeline depends: misses none.
inline void notify_written_ordered(const void* address, std::size_t bytes) noexcept {
  // Pairs with the fence in value_waiters::add().
  std::atomic_thread_fence(std::memory_order_seq_cst);
  notify_written(address, bytes);
}

// Call this after code of the program has run, which may have written any memory.
inline void notify_any_memory_written() noexcept {
  if (value_waiter_count.load(std::memory_order_relaxed) != 0) [[unlikely]]
    notify_all_value_waiters();
}

}  // namespace weir::embedded::engine
