// SPDX-License-Identifier: Apache-2.0
// embedded/engine/notify_written.hpp - notifies streams that wait for a value in memory of writes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir::embedded::engine {

// Number of timelines that wait for a value (value_waiters.hpp). A writer checks it first, so that
// a write costs one load while no timeline waits.
inline constinit std::atomic<std::uint32_t> value_waiter_count{0};

// Unparks the timelines whose word lies in these bytes and has its value.
void notify_value_waiters(const void* address, std::size_t bytes) noexcept;

// Like notify_value_waiters(), for words at any address. Returns true if a timeline was unparked.
bool notify_all_value_waiters() noexcept;

// Call this from an operation after it has written these bytes. It may miss a timeline that begins
// to wait at this moment; the thread that polls for writes of the host finds that one.
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
