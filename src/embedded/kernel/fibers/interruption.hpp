// SPDX-License-Identifier: Apache-2.0
// kernel/fibers/interruption.hpp - kernels that spin: left where their launch has failed, and made
// to let other threads of their block go on.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstdint>

namespace weir::embedded::kernel {

// A thread of the host as one sees it that interrupts what it runs, by a signal (SIGURG). That
// happens only in code of a kernel: what the driver does for it, or the C library, is never
// interrupted.
//
// Thread safety: its own thread, but for the list of all.
class interruptible {
 public:
  // Of the calling thread.
  interruptible() noexcept;
  ~interruptible();
  interruptible(const interruptible&) = delete;
  interruptible& operator=(const interruptible&) = delete;

  // Blocks begin to run. In turns: their threads have a stack each, and others may be let go on in
  // their place.
  void begin(bool in_turns) noexcept {
    const std::uint32_t next = (run_.load(std::memory_order_relaxed) & ~state_bits) + one_run;
    run_.store(next | runs | (in_turns ? turns : 0), std::memory_order_relaxed);
    if (in_turns && asleep.load(std::memory_order_relaxed)) [[unlikely]]
      wake();
  }

  // They have ended: no signal is on its way when it returns. The order of the two accesses is seen
  // to by whoever asks.
  void end() noexcept {
    run_.store(run_.load(std::memory_order_relaxed) & ~state_bits, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (signal_pending_.load(std::memory_order_relaxed)) [[unlikely]]
      wait_for_signal();
  }

 private:
  friend class interrupter;

  static constexpr std::uint32_t runs = 1;
  static constexpr std::uint32_t turns = 2;
  static constexpr std::uint32_t state_bits = 3;
  static constexpr std::uint32_t one_run = 4;

  static void wake() noexcept;
  void wait_for_signal() noexcept;

  static inline constinit std::atomic<bool> asleep{true};  // nobody looks

  std::atomic<std::uint32_t> run_{0};  // a number for each time that blocks are run, and the state
  std::atomic<bool> signal_pending_{false};  // a signal is on its way

  // The interrupter's.
  pthread_t thread_;
  interruptible* next_ = nullptr;
  std::uint32_t seen_ = 0;
  std::chrono::steady_clock::time_point signal_sent_at_;
};

// A launch has failed, and some of its blocks may still run: for as long as this lives, blocks that
// do not end are interrupted, and leave where their own launch, or the device, has failed
// (block_runner::external_failure).
void begin_cancel() noexcept;
void end_cancel() noexcept;

}  // namespace weir::embedded::kernel
