// reactor/run_loop.hpp - continuations that run on the thread that blocks for them.
#pragma once

#include "os/spin_lock.hpp"
#include "reactor/lane.hpp"
#include "reactor/spin_budget.hpp"
#include "reactor/waiter_list.hpp"

#include <weir/detail/completion_waiter.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace weir::detail {

class lane;
class reactor;

// A thread in sync_wait() drives the reactors of those that it waits for, and runs their continuations itself, so that none
// has to be woken; other continuations it leaves to the reactor's thread. One that waits when the loop has ended is told by
// the reactor's thread, too.
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

  // Makes the waiter, which is about to wait in that lane, one of the calling thread's innermost loop, if it is in one.
  static void join(completion_waiter& who, lane& where) noexcept;
  // Is the calling thread in a loop?
  [[nodiscard]] static bool is_inside() noexcept;
  // Leaves it to its loop. False, and nothing done, if that has ended. If it ends before it comes to that, the waiter goes back
  // to the reactor that has found it to be due.
  [[nodiscard]] static bool post(completion_waiter& who, reactor& found_by) noexcept;

  // So many more or fewer of its waiters wait.
  void note_pending(int change) noexcept;

 private:
  static constexpr std::size_t most_reactors = 16;

  [[nodiscard]] bool drives(reactor& one) noexcept;
  [[nodiscard]] completion_waiter* take() noexcept;
  void help(lane& where) noexcept;
  [[nodiscard]] lane::help help_next() noexcept;
  void sleep(std::uint32_t seen) noexcept;
  void need(int change) noexcept;
  void give_back_if_over() noexcept;

  spin_lock lock_;  // guards the following
  waiter_list ready_;
  std::array<reactor*, most_reactors> reactors_{};  // that it has waited with in this life
  unsigned long long life_ = 1;
  bool runs_ = false;
  bool leaves_some_ = false;  // to the reactor's thread
  bool pooled_ = false;

  std::atomic<int> pending_{0};
  std::atomic<bool> finished_{false};
  std::atomic<std::uint32_t> news_{0};
  std::atomic<std::uint32_t> asleep_{0};
  spin_budget budget_;

  // The thread's own.
  std::array<lane*, 64> helped_{};  // those that the engine settles, and this thread waits in
  std::size_t helped_count_ = 0;
  std::size_t helped_turn_ = 0;
  run_loop* outer_ = nullptr;
  run_loop* next_ = nullptr;  // the pool's
};

}  // namespace weir::detail
