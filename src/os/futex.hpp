// os/futex.hpp - sleeping on a word until another thread changes it, for as long as one likes.
#pragma once

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weir::detail {

// std::atomic::wait has no time limit and spins in its own way, so the system call itself.

// Sleeps while `word` is `expected`; may return early for no reason.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr,
          nullptr, 0);
}

// The same, for at most `limit`.
inline void futex_wait_for(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                           std::chrono::nanoseconds limit) noexcept {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  const timespec relative{.tv_sec = seconds.count(), .tv_nsec = (limit - seconds).count()};
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected,
          &relative, nullptr, 0);
}

inline void futex_wake(std::atomic<std::uint32_t>& word, int threads) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, threads, nullptr,
          nullptr, 0);
}

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

}  // namespace weir::detail
