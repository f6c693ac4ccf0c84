// SPDX-License-Identifier: Apache-2.0
// os/futex.hpp - puts threads to sleep until another thread changes a word, with an optional
// timeout.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weir::os {

// The system call of Linux. It is used because std::atomic::wait has no timeout and spins before it
// sleeps.
inline void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value,
                  const timespec* timeout) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout, nullptr,
          0);
}

// Sleeps while `word` equals `expected`. May return spuriously.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
  futex(word, FUTEX_WAIT_PRIVATE, expected, nullptr);
}

// Like futex_wait(), for at most `limit`.
inline void futex_wait_for(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                           std::chrono::nanoseconds limit) noexcept {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  const timespec relative{.tv_sec = seconds.count(), .tv_nsec = (limit - seconds).count()};
  futex(word, FUTEX_WAIT_PRIVATE, expected, &relative);
}

// Wakes at most `threads` threads that sleep on `word`.
inline void futex_wake(std::atomic<std::uint32_t>& word, std::uint32_t threads) noexcept {
  futex(word, FUTEX_WAKE_PRIVATE, threads, nullptr);
}

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

}  // namespace weir::os
