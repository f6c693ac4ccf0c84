// engine/notify_written.hpp - telling the streams that wait for a value in memory that some of it
// was written.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir::embedded::engine {

// How many timelines wait for a value (value_waiters.hpp). Who writes memory for a stream looks
// here, so that writing costs one load while nobody waits.
inline constinit std::atomic<std::uint32_t> value_waiter_count{0};

// Lets those go on whose word lies in these bytes and has its value now.
void notify_value_waiters(const void* address, std::size_t bytes) noexcept;

// The same for those whose word may lie anywhere. True if there were some.
bool notify_all_value_waiters() noexcept;

// To be called by an operation that has written these bytes. One that begins to wait at this very
// moment may be missed: it is seen by the thread that watches for what the host writes.
inline void notify_written(const void* address, std::size_t bytes) noexcept {
  if (value_waiter_count.load(std::memory_order_relaxed) != 0) [[unlikely]]
    notify_value_waiters(address, bytes);
}

// The same where the write is meant for one who waits: none is missed.
inline void notify_written_ordered(const void* address, std::size_t bytes) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);  // against value_waiters::add()
  notify_written(address, bytes);
}

// To be called after code of the program has run, which may have written anything.
inline void notify_all_written() noexcept {
  if (value_waiter_count.load(std::memory_order_relaxed) != 0) [[unlikely]]
    notify_all_value_waiters();
}

}  // namespace weir::embedded::engine
