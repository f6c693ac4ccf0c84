// SPDX-License-Identifier: Apache-2.0
// embedded/engine/value_waiters.hpp - streams that wait for a word of memory to have a value, and
// their notification of writes.
//
// A timeline, the sequence of operations of a stream, is parked while its next operation waits for
// a word. unpark() lets it continue. Operations report the memory that they write, and the
// timelines that wait for a word there are then unparked.
//
// The host writes without reporting it, so a polling thread checks all words, too. It polls often
// when a timeline begins to wait, then less often, down to once a millisecond. It sleeps while no
// timeline waits. Under a deterministic schedule there is no polling thread. Each step, the run of
// one operation, then checks all words first.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir::embedded::engine {

class timeline;

// The number of timelines that wait for a value. A writer checks the number first, so that a write
// costs one load while no timeline waits.
inline constinit std::atomic<std::uint32_t> value_waiter_count{0};

// Adds a parked timeline to the waiting timelines, which are unparked when their word has the
// awaited value. Returns false, without adding the timeline, if the word already has the value or
// the device has failed. The caller must then end the wait itself.
[[nodiscard]] bool add_value_waiter(timeline& line) noexcept;

// Unparks timelines: lets each continue whose awaited word lies in these bytes and has the awaited
// value.
void notify_value_waiters(const void* address, std::size_t bytes) noexcept;

// Like notify_value_waiters(), for words at any address. Returns true if a timeline was unparked.
bool notify_all_value_waiters() noexcept;

// Call this from an operation after it has written these bytes. It may miss a timeline that begins
// to wait at this moment. The polling thread finds such a timeline.
inline void notify_written(const void* address, std::size_t bytes) noexcept {
  if (value_waiter_count.load(std::memory_order_relaxed) != 0) [[unlikely]]
    notify_value_waiters(address, bytes);
}

// Like notify_written(), for a write on which a waiting timeline depends: misses none.
inline void notify_written_ordered(const void* address, std::size_t bytes) noexcept {
  // Pairs with the fence in add_value_waiter().
  std::atomic_thread_fence(std::memory_order_seq_cst);
  notify_written(address, bytes);
}

// Call this after code of the program has run, which may have written any memory.
inline void notify_any_memory_written() noexcept {
  if (value_waiter_count.load(std::memory_order_relaxed) != 0) [[unlikely]]
    notify_all_value_waiters();
}

}  // namespace weir::embedded::engine
