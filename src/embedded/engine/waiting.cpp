// SPDX-License-Identifier: Apache-2.0
// embedded/engine/waiting.cpp - program threads that wait for work, and run operations while they
// wait.
#include "embedded/engine/waiting.hpp"

#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <thread>

#include "embedded/engine/deterministic_scheduler.hpp"
#include "embedded/engine/run_next_slot.hpp"
#include "embedded/engine/scheduler.hpp"
#include "os/futex.hpp"

namespace weir::embedded::engine {

namespace {

std::atomic<abi::CUresult> failure{abi::CUDA_SUCCESS};
std::array<std::atomic<void (*)() noexcept>, 4> failure_hooks{};

// A thread that needs an operation of a stream usually needs the next ones of that stream soon. It
// therefore also runs up to this many short ones that follow.
constexpr std::uint32_t max_extra_operations = 64;

// Returns the point on which a parked timeline waits; no point if it is not parked, or if the point
// is not known.
point find_blocker(const timeline& line) noexcept {
  const point blocker = line.blocked_on();
  return (line.state() & timeline::parked) != 0 ? blocker : point{};
}

// Runs the operations that must complete before the point, following blocked timelines to the
// timelines that block them. Returns false if there was nothing that this thread could run.
bool run_needed_operations(point target) noexcept {
  // path[i] is blocked on path[i + 1]; path[0] is the target. If the path is full, only the target
  // and the newest entry are kept. When the newest entry is reached, the search starts at the
  // target again.
  std::array<point, 64> path{target};
  std::size_t depth = 0;
  // Streams that wait for values can form a cycle until the host writes a value. This bounds the
  // search.
  constexpr int max_path_steps = 4096;
  int steps = 0;  // since an operation was run
  run_next_slot& next = run_next_slot::of_this_thread();
  timeline* unparked = nullptr;  // unparked by this thread, not yet run or made ready
  bool ran_any = false;
  for (;;) {
    const point current = path[depth];
    if (current.reached()) {
      if (depth == 0) break;
      --depth;
    } else if (current.line->try_own()) {
      // The search continues with another timeline, so a worker runs the one that was unparked.
      if (unparked != nullptr && unparked != current.line) unparked->make_ready();
      next.accept_only(depth == 0 ? nullptr : path[depth - 1].line);
      current.line->run(runner_kind::helper, current.count, depth == 0 ? 0 : max_extra_operations);
      unparked = next.take_timeline();
      ran_any = true;
      steps = 0;
      // The wait of path[depth - 1] has ended, even if path[depth] is not reached: a word may have
      // the value before the last write to it.
      if (unparked != nullptr) --depth;
    } else {
      const point blocker = find_blocker(*current.line);
      if (blocker.reached() || ++steps == max_path_steps) break;
      if (depth + 1 == path.size()) depth = 0;
      path[++depth] = blocker;
    }
  }
  next.accept_none();
  if (unparked != nullptr) unparked->make_ready();
  return ran_any;
}

struct sleeper : detail::engine_callback {
  std::atomic<std::uint32_t> woken{0};  // the futex word
};

// The sleeper may be destroyed as soon as its word is set. futex_wake() then uses only the address
// of the word.
void wake_sleeper(detail::engine_callback& self) noexcept {
  std::atomic<std::uint32_t>& woken = static_cast<sleeper&>(self).woken;
  woken.store(1, std::memory_order_release);
  os::futex_wake(woken, 1);
}

// Registers a sleeper that is woken when the point is reached. Returns false if it is reached
// already. Tries again while there is no memory for the registration.
bool add_sleeper(sleeper& added, point target) noexcept {
  constexpr std::chrono::microseconds retry_delay{100};
  while (!target.reached()) {
    try {
      return target.line->add_callback(added, target.count);
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(retry_delay);
    }
  }
  return false;
}

void sleep_until(point target) noexcept {
  sleeper self{{wake_sleeper}};
  if (!add_sleeper(self, target)) return;
  while (self.woken.load(std::memory_order_acquire) == 0) os::futex_wait(self.woken, 0);
}

// Runs the operations that the point needs, if the schedule is not serial. Spins for about 10 us
// when none can run. Returns true once the point is reached, and false after the spinning. Under a
// deterministic schedule, returns false only by `policy`, if the device has failed.
bool try_wait(point target, on_failure policy) noexcept {
  if (target.reached()) return true;
  scheduler& sched = scheduler::instance();
  if (deterministic_scheduler* const steps = sched.deterministic()) {
    steps->run_until(target, policy);
    return target.reached();
  }
  const bool may_run_operations = sched.kind() == schedule_kind::parallel;
  // Some 10 us: an operation that runs on another thread has usually ended by then.
  constexpr int max_spins = 200;
  // The other thread may be waiting for this thread's processor.
  constexpr int spins_between_yields = 16;
  for (int spins = 0; spins < max_spins;) {
    if (target.reached()) return true;
    if (may_run_operations && run_needed_operations(target)) {
      spins = 0;
    } else if (++spins % spins_between_yields == 0) {
      sched_yield();
    } else {
      os::pause();
    }
  }
  return false;
}

}  // namespace

void wait(point target) noexcept {
  if (!try_wait(target, on_failure::keep_waiting)) sleep_until(target);
}

bool run_ready_operations(point target) noexcept {
  constexpr int max_steps = 64;
  scheduler& sched = scheduler::instance();
  if (deterministic_scheduler* const scheduler_steps = sched.deterministic()) {
    scheduler_steps->library_thread().give_turn();
    // The number of steps follows from the program's calls, not from the clock, so the order is
    // repeatable.
    for (int steps = 0; steps < max_steps && !target.reached() &&
                        scheduler_steps->step_for(target) == step_result::short_work;
         ++steps) {
    }
    return true;
  }
  if (sched.kind() == schedule_kind::parallel && !target.reached()) run_needed_operations(target);
  return false;
}

void wait_for_host(point target) noexcept {
  wait(target);
  mark_known_to_host(target);
}

bool try_wait_for_host(point target) noexcept {
  if (!try_wait(target, on_failure::give_up)) return false;
  mark_known_to_host(target);
  return true;
}

abi::CUresult device_failure() noexcept { return failure.load(std::memory_order_relaxed); }

void fail_device(abi::CUresult code) noexcept {
  abi::CUresult expected = abi::CUDA_SUCCESS;
  if (!failure.compare_exchange_strong(expected, code)) return;
  for (const auto& hook : failure_hooks) {
    if (const auto hook_function = hook.load()) hook_function();
  }
}

void add_failure_hook(void (*hook_function)() noexcept) noexcept {
  for (auto& hook : failure_hooks) {
    void (*expected)() noexcept = nullptr;
    if (hook.compare_exchange_strong(expected, hook_function) || expected == hook_function) return;
  }
}

}  // namespace weir::embedded::engine
