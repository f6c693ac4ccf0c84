// SPDX-License-Identifier: Apache-2.0
// os/spin_lock.hpp - a lock for critical sections of a few nanoseconds, and the pause of spin
// loops.
#pragma once

#include <sched.h>
#include <atomic>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weir::os {

// Tells the processor that this thread spins. Takes about 50 ns on current x86.
inline void pause() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A test-and-set lock. Yields the processor after 64 pauses, because the holder may have been
// preempted.
class spin_lock {
 public:
  void lock() noexcept {
    for (int spins = 0; locked_.exchange(true, std::memory_order_acquire); ++spins) {
      while (locked_.load(std::memory_order_relaxed)) {
        if (++spins < 64) {
          pause();
        } else {
          sched_yield();
        }
      }
    }
  }
  bool try_lock() noexcept { return !locked_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { locked_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> locked_{false};
};

}  // namespace weir::os
