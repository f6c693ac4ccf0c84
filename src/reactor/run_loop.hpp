// reactor/run_loop.hpp - continuations that run on the thread that blocks for them.
#pragma once

#include "os/spin_lock.hpp"
#include "reactor/completion_queue.hpp"
#include "reactor/spin_budget.hpp"
#include "reactor/waiter_list.hpp"

#include <weir/detail/completion_waiter.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir::detail {

class completion_queue;
class reactor;

// A thread in sync_wait() drives the reactors of those that it waits for, and runs their
// continuations itself, so that none has to be woken; other continuations it leaves to the
// reactor's thread. One that waits when the loop has ended is told by the reactor's thread, too.
//
// Loops are pooled and live for ever; a waiter knows its loop by the number of its life.
class run_loop {
 public:
  // A loop for the calling thread, inside those that it is in. Throws std::bad_alloc.
  [[nodiscard]] static run_loop& enter();
  void leave() noexcept;

  // Runs continuations until finish(), which any thread may call once.
  void run() noexcept;
  void finish() noexcept;

  // Makes the waiter, which is about to wait in that lane, one of the calling thread's innermost
  // loop, if it is in one.
  static void join(completion_waiter& waiter, completion_queue& queue) noexcept;
  // Is the calling thread in a loop?
  [[nodiscard]] static bool is_on_this_thread() noexcept;
  // Leaves it to its loop. False, and nothing done, if that has ended. If it ends before it comes
  // to that, the waiter goes back to the reactor that has found it to be due.
  [[nodiscard]] static bool post(completion_waiter& waiter, reactor& found_by) noexcept;

  // So many more or fewer of its waiters wait.
  void adjust_pending(int change) noexcept;

 private:
  static constexpr std::size_t max_reactors = 16;

  [[nodiscard]] bool add_reactor(reactor& one) noexcept;
  [[nodiscard]] completion_waiter* pop_ready() noexcept;
  void add_engine_queue(completion_queue& queue) noexcept;
  [[nodiscard]] completion_queue::engine_help help_engine() noexcept;
  void sleep(std::uint32_t seen) noexcept;
  void adjust_demand(int change) noexcept;
  void release_if_unused() noexcept;

  spin_lock lock_;  // guards the following
  waiter_list ready_;
  std::array<reactor*, max_reactors> reactors_{};  // that it has waited with in this life
  unsigned long long generation_ = 1;
  bool is_running_ = false;
  bool has_left_waiters_ = false;  // to the reactor's thread
  bool is_pooled_ = false;

  std::atomic<int> pending_{0};
  std::atomic<bool> finished_{false};
  std::atomic<std::uint32_t> signals_{0};
  std::atomic<std::uint32_t> asleep_{0};
  spin_budget budget_;

  // The thread's own.
  std::array<completion_queue*, 64>
      engine_queues_{};  // those that the engine settles, and this thread waits in
  std::size_t engine_queue_count_ = 0;
  std::size_t next_engine_queue_ = 0;
  run_loop* outer_ = nullptr;
  run_loop* next_ = nullptr;  // the pool's
};

}  // namespace weir::detail
