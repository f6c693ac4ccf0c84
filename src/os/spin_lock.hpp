// os/spin_lock.hpp - a lock for sections of a few nanoseconds, and the pause that polite spinning
// uses.
#pragma once

#include <sched.h>
#include <atomic>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weir::detail {

// Tells the processor that this thread spins; some 50 ns on current x86.
inline void pause() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// A test-and-set lock. Gives the processor away after a while, because the holder may have been
// descheduled.
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

}  // namespace weir::detail
