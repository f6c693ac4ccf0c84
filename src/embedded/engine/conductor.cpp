// engine/conductor.cpp - the deterministic schedules.
#include "embedded/engine/conductor.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "embedded/engine/driver_thread.hpp"
#include "embedded/engine/futex.hpp"
#include "embedded/engine/timeline.hpp"
#include "embedded/engine/written.hpp"

namespace weir::embedded::engine {

using namespace std::chrono_literals;

namespace {

// How long a step waits for a host function, or for work that may take long, which run on threads of their own. What takes
// longer goes on while the schedule does, because it may itself wait for what the program, or a stream, does next.
constexpr std::chrono::milliseconds host_function_patience = 20ms;
constexpr std::chrono::milliseconds long_work_patience = 50ms;
constexpr auto silence_before_patient_steps = 4ms;

}  // namespace

conductor::conductor(schedule how) : schedule_{how}, random_{how.seed} {
  // For more streams than programs have: where memory runs out, a step still needs none.
  constexpr std::size_t many = 1024;
  candidates_.reserve(many);
  active_.reserve(many);
}

void conductor::submitted(timeline& line) noexcept {
  activity_.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard lock{active_lock_};
    if (std::find(active_.begin(), active_.end(), &line) == active_.end()) active_.push_back(&line);
  }
  if (!patient_thread_started_.exchange(true)) {
    start_driver_thread("weir-patience", [this] { make_patient_steps(); });
  }
  if (schedule_.kind != schedule_kind::random) return;
  // A submission that comes out of a step, or from another thread beside one, makes none of its own.
  const std::unique_lock lock{stepping_, std::try_to_lock};
  if (!lock.owns_lock()) return;
  for (auto steps = random_() % 3; steps > 0 && step(); --steps) {
  }
}

void conductor::conduct(point until) noexcept {
  while (!until.reached()) {
    if (!step_for(until) && !until.reached()) std::this_thread::sleep_for(100us);  // work elsewhere or a value decides
  }
}

bool conductor::step_for(point until) noexcept {
  bool moved = false;
  {
    const std::lock_guard lock{stepping_};
    const bool aside = schedule_.kind == schedule_kind::random || random_() % 8 == 0;
    moved = aside ? step() : step_towards(until);
    if (!moved) moved = aside ? step_towards(until) : step();
  }
  activity_.fetch_add(1, std::memory_order_relaxed);
  return moved;
}

bool conductor::step() noexcept {
  anything_written();  // also by the host, since the last step
  candidates_.clear();
  {
    const std::lock_guard lock{active_lock_};
    std::erase_if(active_, [](timeline* line) { return line->drained(); });
    for (timeline* line : active_) {
      if ((line->state() & (timeline::owned | timeline::parked)) == 0) candidates_.push_back(line);
    }
  }
  while (!candidates_.empty()) {
    const std::size_t chosen = random_() % candidates_.size();
    if (run_one(*candidates_[chosen])) return true;
    candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  return false;
}

bool conductor::step_towards(point until) noexcept {
  constexpr int longest_chain = 256;
  anything_written();
  for (int links = 0; links < longest_chain; ++links) {
    if (run_one(*until.line)) return true;
    const point blocker = until.line->blocked_on();
    if (blocker.line == nullptr || blocker.reached()) return false;
    until = blocker;
  }
  return false;
}

// Runs one operation of a timeline. True if something has changed.
bool conductor::run_one(timeline& line) noexcept {
  if (!line.try_own()) return false;
  const std::uint64_t before = line.completed();
  std::uint32_t seen = runs_elsewhere_.load(std::memory_order_acquire);
  const stop why = line.run(runner::step, before + 1);
  if (why != stop::host && why != stop::apart) return line.completed() != before;
  // Until its thread has let go of the timeline, too, which decides who can make the next step.
  const auto has_run = [&] { return line.completed() != before && (line.state() & timeline::owned) == 0; };
  constexpr int most_spins = 200;  // some 10 us
  for (int spins = 0; spins < most_spins && !has_run(); ++spins) pause();
  const auto patience_ends =
      std::chrono::steady_clock::now() + (why == stop::host ? host_function_patience : long_work_patience);
  while (!has_run()) {
    const auto left = patience_ends - std::chrono::steady_clock::now();
    if (left <= 0ns) break;
    futex_wait_for(runs_elsewhere_, seen, left);
    seen = runs_elsewhere_.load(std::memory_order_acquire);
  }
  return true;
}

void conductor::ran_elsewhere() noexcept {
  runs_elsewhere_.fetch_add(1, std::memory_order_release);
  futex_wake(runs_elsewhere_, 1);
}

void conductor::make_patient_steps() noexcept {
  std::uint64_t seen = 0;
  for (;;) {
    std::this_thread::sleep_for(silence_before_patient_steps);
    const std::uint64_t now = activity_.load(std::memory_order_relaxed);
    if (now == std::exchange(seen, now)) {
      const std::unique_lock lock{stepping_, std::try_to_lock};
      while (lock.owns_lock() && step()) {
      }
    }
  }
}

}  // namespace weir::embedded::engine
