// engine/biased_lock.hpp - a lock that is not taken by the thread that has it to itself.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "embedded/engine/spin_lock.hpp"

namespace weir::embedded::engine {

// Guards sections of a few nanoseconds that are nearly always entered by one and the same thread:
// its user, who is the first to come. The user enters by two plain stores, without an atomic
// exchange and without a fence. Another thread takes that right away first, by a barrier in all
// threads of the process (membarrier, a system call), and from then on it is a spin lock.
//
// In each of its lives (renew) the right can be had anew a few times, so that a stream that is
// handed from one thread to another is the other's afterwards. Where the system has no such
// barrier, it is a spin lock from the beginning.
//
// Thread safety: all members, from any thread.
class biased_lock {
  using slot = std::atomic<const biased_lock*>;

 public:
  // Inside from construction to destruction, on one thread. A thread is not in two sections of one
  // lock; those of several end in any order.
  class [[nodiscard]] section {
   public:
    explicit section(biased_lock& lock) noexcept : lock_{lock}, biased_slot_{lock.enter_biased()} {
      if (biased_slot_ == nullptr) biased_slot_ = lock.enter_slow();
    }
    section(const section&) = delete;
    section& operator=(const section&) = delete;
    ~section() {
      if (biased_slot_ != nullptr) {
        biased_slot_->store(nullptr, std::memory_order_release);
      } else {
        lock_.shared_.unlock();
      }
    }

    // Did the thread enter without the spin lock?
    [[nodiscard]] bool is_biased() const noexcept { return biased_slot_ != nullptr; }

   private:
    biased_lock& lock_;
    slot* biased_slot_;  // null: by the spin lock
  };

  // A new life of what it guards: threads that it knew may be gone.
  void reset_bias() noexcept { biases_left_.store(max_biases, std::memory_order_relaxed); }

 private:
  // What a thread is inside of by right. Lives on after the thread, for another one.
  struct alignas(64) thread_record {
    std::array<slot, 2> sections{};  // changed by the thread alone
    thread_record* next = nullptr;   // of those without a thread

    static constinit thread_local thread_record* of_this_thread [[gnu::tls_model("initial-exec")]];
  };
  class thread_records;
  static constexpr int max_biases = 3;

  // A place that is free; null where the thread is in as many sections by right as it can be.
  [[nodiscard]] static slot* free_slot(thread_record& self) noexcept {
    for (slot& p : self.sections) {
      if (p.load(std::memory_order_relaxed) == nullptr) return &p;
    }
    return nullptr;
  }

  // Null where the calling thread is not the user.
  [[nodiscard]] slot* enter_biased() noexcept {
    thread_record* const self = thread_record::of_this_thread;
    if (self == nullptr || bias_owner_.load(std::memory_order_relaxed) != self) return nullptr;
    slot* const own_slot = free_slot(*self);
    if (own_slot == nullptr) return nullptr;
    own_slot->store(this, std::memory_order_release);
    // For the compiler only. Whoever takes the right away sees to the processor: behind that
    // barrier either this thread reads that it is not the user, or the other one reads that it is
    // inside.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (bias_owner_.load(std::memory_order_relaxed) == self) [[likely]] {
      return own_slot;
    }
    own_slot->store(nullptr, std::memory_order_release);
    return nullptr;
  }

  [[nodiscard]] slot* enter_slow() noexcept;
  void revoke_bias(thread_record& owner) noexcept;

  std::atomic<thread_record*> bias_owner_{nullptr};  // changed with the spin lock held
  std::atomic<int> biases_left_{max_biases};
  spin_lock shared_;
};

}  // namespace weir::embedded::engine
