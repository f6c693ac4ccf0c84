// engine/wake_up.hpp - how many threads of a group look for work, and waking one more only where it is needed.
#pragma once

#include <atomic>
#include <cstdint>

#include "embedded/engine/futex.hpp"
#include "embedded/engine/spin_lock.hpp"

namespace weir::embedded::engine {

// The counts are guarded by `lock`, together with the list that the threads take from: a thread goes to sleep only
// after it has seen the list empty under the lock, so that no entry is left to sleepers.
//
// A thread is searching (awake, looks at the list soon), busy, or asleep. As long as one searches, an addition to the list wakes nobody:
// a burst of work costs one wake-up.
class wake_up {
 public:
  spin_lock lock;

  // What the one who added to the list has to do, after the lock is released.
  enum class action : std::uint8_t { none, wake, start };

  // With the lock held: something was added.
  [[nodiscard]] action added(unsigned most_threads) noexcept {
    if (searching_ != 0) return action::none;
    if (asleep_ != 0) {
      --asleep_;
      ++searching_;
      return action::wake;
    }
    if (started_ == most_threads) return action::none;
    ++started_;
    ++searching_;
    return action::start;
  }
  void wake() noexcept {
    permits_.fetch_add(1, std::memory_order_release);
    futex_wake(permits_, 1);
  }

  // With the lock held: the calling thread has found something, has finished with it, gives up.
  void found() noexcept { --searching_; }
  void finished() noexcept { ++searching_; }
  void gives_up() noexcept {
    --searching_;
    ++asleep_;
  }

  // After gives_up(), without the lock: sleeps until woken, and is searching again.
  void sleep() noexcept {
    for (;;) {
      std::uint32_t permits = permits_.load(std::memory_order_acquire);
      while (permits != 0) {
        if (permits_.compare_exchange_weak(permits, permits - 1, std::memory_order_acq_rel)) return;
      }
      futex_wait(permits_, 0);
    }
  }

 private:
  unsigned searching_ = 0;
  unsigned asleep_ = 0;
  unsigned started_ = 0;
  std::atomic<std::uint32_t> permits_{0};
};

}  // namespace weir::embedded::engine
