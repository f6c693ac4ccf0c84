// engine/biased_lock.hpp - a lock that is not taken by the thread that has it to itself.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "embedded/engine/spin_lock.hpp"

namespace weir::embedded::engine {

// Guards sections of a few nanoseconds that are nearly always entered by one and the same thread: its user, who is the first to
// come. The user enters by two plain stores, without an atomic exchange and without a fence. Another thread takes that
// right away first, by a barrier in all threads of the process (membarrier, a system call), and from then on it is a spin lock.
//
// In each of its lives (renew) the right can be had anew a few times, so that a stream that is handed from one thread to
// another is the other's afterwards. Where the system has no such barrier, it is a spin lock from the beginning.
//
// Thread safety: all members, from any thread.
class biased_lock {
  using place = std::atomic<const biased_lock*>;

 public:
  // Inside from construction to destruction, on one thread. A thread is not in two sections of one lock; those of several
  // end in any order.
  class [[nodiscard]] section {
   public:
    explicit section(biased_lock& lock) noexcept : lock_{lock}, by_right_{lock.enter_by_right()} {
      if (by_right_ == nullptr) by_right_ = lock.enter_slowly();
    }
    section(const section&) = delete;
    section& operator=(const section&) = delete;
    ~section() {
      if (by_right_ != nullptr) {
        by_right_->store(nullptr, std::memory_order_release);
      } else {
        lock_.shared_.unlock();
      }
    }

    // Did the thread enter without the spin lock?
    [[nodiscard]] bool by_right() const noexcept { return by_right_ != nullptr; }

   private:
    biased_lock& lock_;
    place* by_right_;  // null: by the spin lock
  };

  // A new life of what it guards: threads that it knew may be gone.
  void renew() noexcept { rights_left_.store(rights_in_a_life, std::memory_order_relaxed); }

 private:
  // What a thread is inside of by right. Lives on after the thread, for another one.
  struct alignas(64) thread_mark {
    std::array<place, 2> inside{};  // changed by the thread alone
    thread_mark* next = nullptr;    // of those without a thread

    static constinit thread_local thread_mark* of_this_thread [[gnu::tls_model("initial-exec")]];
  };
  class thread_marks;
  static constexpr int rights_in_a_life = 3;

  // A place that is free; null where the thread is in as many sections by right as it can be.
  [[nodiscard]] static place* free_place(thread_mark& me) noexcept {
    for (place& p : me.inside) {
      if (p.load(std::memory_order_relaxed) == nullptr) return &p;
    }
    return nullptr;
  }

  // Null where the calling thread is not the user.
  [[nodiscard]] place* enter_by_right() noexcept {
    thread_mark* const me = thread_mark::of_this_thread;
    if (me == nullptr || user_.load(std::memory_order_relaxed) != me) return nullptr;
    place* const here = free_place(*me);
    if (here == nullptr) return nullptr;
    here->store(this, std::memory_order_release);
    // For the compiler only. Whoever takes the right away sees to the processor: behind that barrier either this thread reads
    // that it is not the user, or the other one reads that it is inside.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (user_.load(std::memory_order_relaxed) == me) [[likely]] {
      return here;
    }
    here->store(nullptr, std::memory_order_release);
    return nullptr;
  }

  [[nodiscard]] place* enter_slowly() noexcept;
  void take_right_away(thread_mark& user) noexcept;

  std::atomic<thread_mark*> user_{nullptr};  // changed with the spin lock held
  std::atomic<int> rights_left_{rights_in_a_life};
  spin_lock shared_;
};

}  // namespace weir::embedded::engine
