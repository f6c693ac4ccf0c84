// SPDX-License-Identifier: Apache-2.0
// embedded/engine/turn_based_thread.cpp - gives turns to the thread of the library above the
// driver.
#include "embedded/engine/turn_based_thread.hpp"

#include "embedded/engine/thread_stopwatch.hpp"
#include "os/futex.hpp"

namespace weir::embedded::engine {

using namespace std::chrono_literals;

namespace {

// How long a turn may take on an idle machine. A thread that is preempted has more time, up to the
// second limit.
constexpr std::chrono::nanoseconds turn_limit = 100ms;
constexpr std::chrono::nanoseconds elapsed_limit = 1s;

constinit thread_local bool is_turn_based = false;

}  // namespace

bool turn_based_thread::is_this_thread() noexcept { return is_turn_based; }

void turn_based_thread::take_turn() noexcept {
  is_turn_based = true;
  thread_ = this_thread_id();
  state_ = waiting;
  os::futex_wake(state_, 1);
  while (state_ == waiting) os::futex_wait_for(state_, waiting, elapsed_limit);
}

void turn_based_thread::give_turn() noexcept {
  if (!requested_.load(std::memory_order_relaxed) || is_turn_based) return;
  if (is_giving_.exchange(true)) return;
  // A turn that took too long once is not waited for again.
  if (!is_overdue_ || state_ == waiting) {
    is_overdue_ = !wait_until_over();
    if (!is_overdue_) {
      requested_ = false;
      state_ = running;
      os::futex_wake(state_, 1);
      is_overdue_ = !wait_until_over();
    }
  }
  is_giving_ = false;
}

// Returns true once the thread waits for a turn, and false after the time limit. A thread that was
// just created has not called take_turn() yet.
bool turn_based_thread::wait_until_over() noexcept {
  const auto start = std::chrono::steady_clock::now();
  const thread_stopwatch stopwatch{thread_, thread_cpu_time(thread_)};
  for (;;) {
    const std::uint32_t observed_state = state_;
    if (observed_state == waiting) return true;
    const auto elapsed = std::chrono::steady_clock::now() - start;
    if (elapsed >= elapsed_limit) return false;
    if (elapsed >= turn_limit && observed_state == running &&
        stopwatch.unpreempted_time(elapsed) >= turn_limit)
      return false;
    os::futex_wait_for(state_, observed_state, turn_limit / 4);
  }
}

}  // namespace weir::embedded::engine
