// engine/waiting.cpp - threads of the program that wait, and help.
#include "embedded/engine/waiting.hpp"

#include <sched.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <new>

#include "embedded/engine/failure_hook.hpp"
#include "embedded/engine/futex.hpp"
#include "embedded/engine/scheduler.hpp"
#include "embedded/engine/successor.hpp"

namespace weir::embedded::engine {

namespace {

std::atomic<abi::CUresult> failure{abi::CUDA_SUCCESS};
std::array<std::atomic<void (*)() noexcept>, 4> failure_hooks{};

// Who waits for one operation of a stream most often waits for its next ones soon: so many short ones are run with it.
constexpr std::uint32_t ahead = 64;

// Runs what stands between now and the point, following what blocks it from timeline to timeline and back again.
// False if there was nothing that this thread could run.
bool help(point until) noexcept {
  std::array<point, 64> path;  // each blocked on the next; of a longer chain, the end nearest to what can run
  std::size_t depth = 0;
  // Streams that wait for values may wait for each other in a circle, where the host has yet to write.
  constexpr int longest_way = 4096;
  int steps = 0;  // since something was run
  path[0] = until;
  successor& next = successor::of_this_thread();
  timeline* kept = nullptr;  // unparked by us, and not yet run or announced
  bool ran = false;
  for (;;) {
    const point here = path[depth];
    if (here.reached()) {
      if (depth == 0) break;
      --depth;
    } else if (here.line->try_own()) {
      if (kept != nullptr && kept != here.line) kept->announce();  // the way has led elsewhere
      timeline* const waiting = depth == 0 ? nullptr : path[depth - 1].line;
      next.keep_only(waiting);
      here.line->run(runner::helper, here.count, depth == 0 ? 0 : ahead);
      kept = next.take();
      ran = true;
      steps = 0;
      if (kept != nullptr) --depth;  // a value may be there before the last write to its word
    } else {
      const point blocker = here.line->blocked_on();
      if ((here.line->state() & timeline::parked) == 0 || blocker.line == nullptr || blocker.reached()) break;
      if (++steps == longest_way) break;
      if (depth + 1 == path.size()) depth = 0;
      path[++depth] = blocker;
    }
  }
  next.keep_none();
  if (kept != nullptr) kept->announce();
  return ran;
}

void sleep_until(point until) noexcept {
  constexpr std::chrono::microseconds nap{100};
  sleeper me;
  while (!until.reached()) {
    try {
      if (!until.line->add_sleeper(me, until.count)) return;
    } catch (const std::bad_alloc&) {
      futex_wait_for(me.woken, 0, nap);  // without memory to be noted down nobody wakes it
      continue;
    }
    while (me.woken.load(std::memory_order_acquire) == 0) futex_wait(me.woken, 0);
    until.line->remove_sleeper(me);
    me.woken.store(0, std::memory_order_relaxed);
  }
}

// Runs what has to run for it, and spins. True if it is reached.
bool wait_awake(point until, on_failure then) noexcept {
  if (until.reached()) return true;
  scheduler& s = scheduler::instance();
  if (s.stepping()) {
    s.conduct(until, then);
    return until.reached();
  }
  const bool helps = s.kind() == schedule_kind::parallel;
  constexpr int most_spins = 200;           // some 10 us: what another thread runs now is mostly done by then
  constexpr int spins_between_yields = 16;  // that thread may have been given this thread's processor
  for (int spins = 0; spins < most_spins;) {
    if (until.reached()) return true;
    if (helps && help(until)) {
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

void wait(point until) noexcept {
  if (!wait_awake(until, on_failure::waits_on)) sleep_until(until);
}

bool help_once(point until) noexcept {
  constexpr int most_steps = 64;
  scheduler& s = scheduler::instance();
  if (s.stepping()) {
    // As many as the program's calls decide, and not the clock: the order is the same in each run.
    for (int steps = 0; steps < most_steps && !until.reached() && s.step_for(until) == stepped::short_work; ++steps) {
    }
    return true;
  }
  if (s.kind() == schedule_kind::parallel && !until.reached()) help(until);
  return false;
}

void wait_for_host(point until) noexcept {
  wait(until);
  make_known_to_host(until);
}

bool wait_awake_for_host(point until) noexcept {
  if (!wait_awake(until, on_failure::gives_up)) return false;
  make_known_to_host(until);
  return true;
}

abi::CUresult device_failure() noexcept { return failure.load(std::memory_order_relaxed); }

void fail_device(abi::CUresult code) noexcept {
  abi::CUresult well = abi::CUDA_SUCCESS;
  if (!failure.compare_exchange_strong(well, code)) return;
  for (const auto& hook : failure_hooks) {
    if (const auto what = hook.load()) what();
  }
}

void call_on_failure(void (*what)() noexcept) noexcept {
  for (auto& hook : failure_hooks) {
    void (*nobody)() noexcept = nullptr;
    if (hook.compare_exchange_strong(nobody, what) || nobody == what) return;
  }
}

}  // namespace weir::embedded::engine
