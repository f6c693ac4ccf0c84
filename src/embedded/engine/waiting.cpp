// engine/waiting.cpp - threads of the program that wait, and help.
#include "embedded/engine/waiting.hpp"

#include <sched.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <new>

#include "embedded/engine/failure_hook.hpp"
#include "embedded/engine/futex.hpp"
#include "embedded/engine/run_next_slot.hpp"
#include "embedded/engine/scheduler.hpp"

namespace weir::embedded::engine {

namespace {

std::atomic<abi::CUresult> failure{abi::CUDA_SUCCESS};
std::array<std::atomic<void (*)() noexcept>, 4> failure_hooks{};

// Who waits for one operation of a stream most often waits for its next ones soon: so many short
// ones are run with it.
constexpr std::uint32_t max_extra_operations = 64;

// Runs what stands between now and the point, following what blocks it from timeline to timeline
// and back again. False if there was nothing that this thread could run.
bool help(point target) noexcept {
  std::array<point, 64>
      path;  // each blocked on the next; of a longer chain, the end nearest to what can run
  std::size_t depth = 0;
  // Streams that wait for values may wait for each other in a circle, where the host has yet to
  // write.
  constexpr int max_path_steps = 4096;
  int steps = 0;  // since something was run
  path[0] = target;
  run_next_slot& next = run_next_slot::of_this_thread();
  timeline* unparked = nullptr;  // unparked by us, and not yet run or announced
  bool ran_any = false;
  for (;;) {
    const point current = path[depth];
    if (current.reached()) {
      if (depth == 0) break;
      --depth;
    } else if (current.line->try_own()) {
      if (unparked != nullptr && unparked != current.line)
        unparked->make_ready();  // the way has led elsewhere
      timeline* const waiting = depth == 0 ? nullptr : path[depth - 1].line;
      next.accept_only(waiting);
      current.line->run(runner_kind::helper, current.count, depth == 0 ? 0 : max_extra_operations);
      unparked = next.take();
      ran_any = true;
      steps = 0;
      if (unparked != nullptr) --depth;  // a value may be there before the last write to its word
    } else {
      const point blocker = current.line->blocked_on();
      if ((current.line->state() & timeline::parked) == 0 || blocker.line == nullptr ||
          blocker.reached())
        break;
      if (++steps == max_path_steps) break;
      if (depth + 1 == path.size()) depth = 0;
      path[++depth] = blocker;
    }
  }
  next.accept_none();
  if (unparked != nullptr) unparked->make_ready();
  return ran_any;
}

void sleep_until(point target) noexcept {
  constexpr std::chrono::microseconds retry_delay{100};
  sleeper self;
  while (!target.reached()) {
    try {
      if (!target.line->add_sleeper(self, target.count)) return;
    } catch (const std::bad_alloc&) {
      futex_wait_for(self.woken, 0,
                     retry_delay);  // without memory to be noted down nobody wakes it
      continue;
    }
    while (self.woken.load(std::memory_order_acquire) == 0) futex_wait(self.woken, 0);
    target.line->remove_sleeper(self);
    self.woken.store(0, std::memory_order_relaxed);
  }
}

// Runs what has to run for it, and spins. True if it is reached.
bool try_wait(point target, on_failure policy) noexcept {
  if (target.reached()) return true;
  scheduler& s = scheduler::instance();
  if (s.is_deterministic()) {
    s.run_until(target, policy);
    return target.reached();
  }
  const bool may_help = s.kind() == schedule_kind::parallel;
  constexpr int max_spins = 200;  // some 10 us: what another thread runs now is mostly done by then
  constexpr int spins_between_yields =
      16;  // that thread may have been given this thread's processor
  for (int spins = 0; spins < max_spins;) {
    if (target.reached()) return true;
    if (may_help && help(target)) {
      spins = 0;
    } else if (++spins % spins_between_yields == 0) {
      sched_yield();
    } else {
      pause();
    }
  }
  return false;
}

}  // namespace

void wait(point target) noexcept {
  if (!try_wait(target, on_failure::keep_waiting)) sleep_until(target);
}

bool help_once(point target) noexcept {
  constexpr int max_steps = 64;
  scheduler& s = scheduler::instance();
  if (s.is_deterministic()) {
    // As many as the program's calls decide, and not the clock: the order is the same in each run.
    for (int steps = 0;
         steps < max_steps && !target.reached() && s.step_for(target) == step_result::short_work;
         ++steps) {
    }
    return true;
  }
  if (s.kind() == schedule_kind::parallel && !target.reached()) help(target);
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
