// engine/written.hpp - telling the streams that wait for a value in memory that some of it was written.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir::embedded::engine {

// How many timelines wait for a value (value_watch.hpp). Who writes memory for a stream looks here, so that writing costs one load
// while nobody waits.
inline constinit std::atomic<std::uint32_t> waiting_for_values{0};

// Lets those go on whose word lies in these bytes and has its value now.
void tell_of(const void* at, std::size_t bytes) noexcept;

// The same for those whose word may lie anywhere. True if there were some.
bool tell_of_all() noexcept;

// To be called by an operation that has written these bytes. One that begins to wait at this very moment may be missed: it is
// seen by the thread that watches for what the host writes.
inline void written(const void* at, std::size_t bytes) noexcept {
  if (waiting_for_values.load(std::memory_order_relaxed) != 0) [[unlikely]]
    tell_of(at, bytes);
}

// The same where the write is meant for one who waits: none is missed.
inline void written_for_waiters(const void* at, std::size_t bytes) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);  // against value_watch::add()
  written(at, bytes);
}

// To be called after code of the program has run, which may have written anything.
inline void anything_written() noexcept {
  if (waiting_for_values.load(std::memory_order_relaxed) != 0) [[unlikely]]
    tell_of_all();
}

}  // namespace weir::embedded::engine
