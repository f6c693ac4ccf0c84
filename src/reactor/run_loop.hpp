// SPDX-License-Identifier: Apache-2.0
// reactor/run_loop.hpp - runs continuations on the thread that blocks for them in sync_wait().
#pragma once

#include "os/spin_lock.hpp"
#include "reactor/completion_queue.hpp"
#include "reactor/linked_queue.hpp"
#include "reactor/spin_budget.hpp"

#include <weir/detail/completion_waiter.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::detail {

class reactor;

// The loop of a thread in sync_wait(). The thread drives the reactors of the work it waits for and
// runs the continuations of its own waiters, so that no thread has to be woken. Other continuations
// are left to the reactor's thread, and so are waiters that remain when the loop has ended.
//
// Loops are pooled and never destroyed. Each use of a loop is a generation. A waiter identifies its
// loop by address and generation, so a loop that is in use again does not get the waiter.
class run_loop {
 public:
  // Returns a loop for the calling thread, nested in those it is already in. Throws:
  // std::bad_alloc.
  [[nodiscard]] static run_loop& enter();
  // Ends the calling thread's innermost loop.
  void leave() noexcept;

  // Runs continuations until finish(), which any thread may call once.
  void run() noexcept;
  void finish() noexcept;

  // Assigns a waiter that is about to wait in `queue` to the calling thread's innermost loop. Does
  // nothing if there is none, or if its waiters wait for max_reactors other reactors already.
  static void join(completion_waiter& waiter, completion_queue& queue) noexcept;
  // Returns true if the calling thread is in a loop.
  [[nodiscard]] static bool is_on_this_thread() noexcept;
  // Passes a waiter whose point is complete to its loop. Returns false and does nothing if the loop
  // has ended. If the loop ends before it runs the waiter, the waiter returns to `found_by`.
  [[nodiscard]] static bool post(completion_waiter& waiter, reactor& found_by) noexcept;

  // Adds `change` to the number of the loop's waiters that wait in a queue.
  void adjust_pending(int change) noexcept;

 private:
  static constexpr std::size_t max_reactors = 16;

  // Returns reactors_ without the unused places.
  [[nodiscard]] std::span<reactor* const> used_reactors() const noexcept;
  // Returns false if reactors_ is full.
  [[nodiscard]] bool add_reactor(reactor& one) noexcept;
  [[nodiscard]] completion_waiter* pop_ready() noexcept;
  void add_engine_queue(completion_queue& queue) noexcept;
  [[nodiscard]] completion_queue::engine_help help_engine() noexcept;
  void sleep(std::uint32_t seen) noexcept;
  void adjust_demand(int change) noexcept;
  void release_if_unused() noexcept;

  os::spin_lock lock_;  // guards the members from ready_ to is_pooled_
  waiter_list ready_;
  std::array<reactor*, max_reactors> reactors_{};  // the reactors of this generation's waiters
  unsigned long long generation_ = 1;
  bool is_running_ = false;
  bool has_left_waiters_ = false;  // waiters remained when the loop ended
  bool is_pooled_ = false;         // in the pool, without a thread

  std::atomic<int> pending_{0};            // registered waiters, plus 1 during leave()
  std::atomic<bool> finished_{false};      // finish() was called
  std::atomic<std::uint32_t> signals_{0};  // a futex word that post() and finish() change
  std::atomic<std::uint32_t> asleep_{0};   // 1: the thread sleeps or is about to
  spin_budget budget_;

  // Used by the loop's thread alone. The queues that the engine completes and that this thread
  // waits in.
  std::array<completion_queue*, 64> engine_queues_{};
  std::size_t engine_queue_count_ = 0;
  std::size_t next_engine_queue_ = 0;
  run_loop* outer_ = nullptr;
  run_loop* next_ = nullptr;  // link of the pool
};

}  // namespace weir::detail
