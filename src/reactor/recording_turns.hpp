// SPDX-License-Identifier: Apache-2.0
// reactor/recording_turns.hpp - lets one thread at a time record an event for a queue.
#pragma once

#include "os/futex.hpp"
#include "os/spin_lock.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>

namespace weir::detail {

// Serializes the recording of events, so that tickets are in the order of the stream. A thread has
// its turn from the start of a record until the event is in the queue. A record may take long, so
// the queue's lock can be released during a turn.
//
// Thread safety: the caller of is_recording() holds the queue's lock. The constructor of a turn
// acquires it.
class recording_turns {
 public:
  // Returns true if a thread records an event that it has not added to the queue yet.
  [[nodiscard]] bool is_recording() const noexcept { return is_recording_; }

  // The calling thread's turn. The constructor acquires the queue's lock, waits until no other
  // thread has a turn, and returns with the lock held. The destructor ends the turn and releases
  // the lock.
  class turn {
   public:
    turn(recording_turns& turns, os::spin_lock& queue_lock) noexcept
        : turns_{turns}, hold_{queue_lock} {
      while (turns_.is_recording_) [[unlikely]] {
          turns_.wait(hold_);
        }
      turns_.is_recording_ = true;
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() {
      if (!hold_.owns_lock()) hold_.lock();
      turns_.is_recording_ = false;
      const bool others_wait = turns_.waiting_ != 0;
      if (others_wait) turns_.turns_.fetch_add(1, std::memory_order_relaxed);
      hold_.unlock();
      if (others_wait) [[unlikely]] {
        os::futex_wake(turns_.turns_, 1);
      }
    }

    // Acquires the queue's lock again after unlock().
    void lock() noexcept { hold_.lock(); }
    // Releases the queue's lock during the turn.
    void unlock() noexcept { hold_.unlock(); }

   private:
    recording_turns& turns_;
    std::unique_lock<os::spin_lock> hold_;
  };

 private:
  // Sleeps until a turn ends, with the lock released meanwhile. May return early.
  void wait(std::unique_lock<os::spin_lock>& hold) noexcept {
    const std::uint32_t seen = turns_.load(std::memory_order_relaxed);
    ++waiting_;
    hold.unlock();
    os::futex_wait(turns_, seen);
    hold.lock();
    --waiting_;
  }

  bool is_recording_ = false;
  int waiting_ = 0;                      // threads in wait()
  std::atomic<std::uint32_t> turns_{0};  // the futex word of the waiting threads
};

}  // namespace weir::detail
