// engine/conductor.cpp - the deterministic schedules.
#include "embedded/engine/conductor.hpp"

#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "embedded/engine/driver_thread.hpp"
#include "embedded/engine/thread_watch.hpp"
#include "embedded/engine/timeline.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/engine/written.hpp"

namespace weir::embedded::engine {

using namespace std::chrono_literals;

namespace {

// How long a step waits for a host function, or for work that may take long, which run on threads of their own. What takes
// longer goes on while the schedule does, because it may itself wait for what the program, or a stream, does next.
constexpr std::chrono::milliseconds host_function_patience = 20ms;
constexpr std::chrono::milliseconds long_work_patience = 50ms;
constexpr auto silence_before_patient_steps = 4ms;
// A thread that looks at memory has run for so long by then, or has had so many turns, if it yields in each. One that was
// given none could not have called.
constexpr auto run_in_silence = 2ms;
constexpr long turns_in_silence = 3;
// So often in a row there may be no silence; then there are steps for so long.
constexpr int most_noise = 5;
constexpr auto time_in_noise = 1ms;

constinit thread_local bool is_patient_thread = false;

}  // namespace

conductor::conductor(schedule how) : schedule_{how}, random_{how.seed} {
  // For more streams than programs have: where memory runs out, a step still needs none.
  constexpr std::size_t many = 1024;
  active_.reserve(many);
}

void conductor::submitted(timeline& line) noexcept {
  note_activity(submissions_);
  {
    const std::lock_guard lock{active_lock_};
    if (!std::exchange(line.conducted, true)) active_.push_back(&line);
  }
  if (!patient_thread_started_.exchange(true)) {
    start_driver_thread("weir-patience", [this] { make_patient_steps(); });
  }
  if (schedule_.kind != schedule_kind::random) return;
  // A submission that comes out of a step, or from another thread beside one, makes none of its own.
  const std::unique_lock lock{stepping_, std::try_to_lock};
  if (!lock.owns_lock()) return;
  for (auto steps = random_() % 3; steps > 0 && step() != stepped::nothing; --steps) {
  }
  note_activity(submissions_);  // a step may have taken long: before the patient thread can have the lock
}

void conductor::conduct(point until, on_failure then) noexcept {
  while (!until.reached()) {
    if (step_for(until) != stepped::nothing || until.reached()) continue;
    if (then == on_failure::gives_up && device_failure() != abi::CUDA_SUCCESS) return;
    std::this_thread::sleep_for(100us);  // work elsewhere or a value decides
  }
}

stepped conductor::step_for(point until) noexcept {
  auto moved = stepped::nothing;
  ++waiting_in_step_;
  // A thread that makes one step after the other would have the lock again before the patient one has woken up.
  while (patient_waits_.load(std::memory_order_relaxed)) std::this_thread::sleep_for(20us);
  {
    const std::lock_guard lock{stepping_};
    const bool aside = schedule_.kind == schedule_kind::random || random_() % 8 == 0;
    moved = aside ? step() : step_towards(until);
    if (moved == stepped::nothing) moved = aside ? step_towards(until) : step();
    note_activity(waits_);  // before the patient thread can have the lock
  }
  --waiting_in_step_;
  return moved;
}

stepped conductor::step() noexcept {
  anything_written();  // also by the host, since the last step
  walk around{.at = random_()};
  while (timeline* const line = next_to_run(around)) {
    if (const stepped moved = run_one(*line); moved != stepped::nothing) return moved;
  }
  return stepped::nothing;
}

// The next that can perhaps be run, from a place on and once around. Those that are drained are taken out. In such a place comes
// the last, which may have had its turn: so the number of looks stays what it was.
timeline* conductor::next_to_run(walk& around) noexcept {
  const std::lock_guard lock{active_lock_};
  if (!std::exchange(around.has_begun, true)) around.looks = active_.size();
  while (around.looks != 0 && !active_.empty()) {
    around.at %= active_.size();
    timeline& line = *active_[around.at];
    if (line.drained()) {
      line.conducted = false;
      active_[around.at] = active_.back();
      active_.pop_back();
      continue;
    }
    --around.looks;
    ++around.at;
    if ((line.state() & (timeline::owned | timeline::parked)) == 0) return &line;
  }
  return nullptr;
}

stepped conductor::step_towards(point until) noexcept {
  constexpr int longest_chain = 256;
  anything_written();
  for (int links = 0; links < longest_chain; ++links) {
    if (const stepped moved = run_one(*until.line); moved != stepped::nothing) return moved;
    const point blocker = until.line->blocked_on();
    if (blocker.line == nullptr || blocker.reached()) return stepped::nothing;
    until = blocker;
  }
  return stepped::nothing;
}

// Runs one operation of a timeline.
stepped conductor::run_one(timeline& line) noexcept {
  if (!line.try_own()) return stepped::nothing;
  const std::uint64_t before = line.completed();
  passed_on_.expect(line);
  const stop why = line.run(runner::step, before + 1);
  if (why == stop::host) {
    passed_on_.wait(elsewhere::host_thread, host_function_patience);
  } else if (why == stop::apart) {
    passed_on_.wait(elsewhere::long_threads, long_work_patience);
  } else {
    return line.completed() != before ? stepped::short_work : stepped::nothing;
  }
  return stepped::long_work;
}

// What this thread submits within a patient step is no activity of the program's.
void conductor::note_activity(std::atomic<std::uint64_t>& of) noexcept {
  if (is_patient_thread) return;
  of.fetch_add(1, std::memory_order_relaxed);
  if (several_threads_.load(std::memory_order_relaxed)) return;
  pid_t first = 0;
  const pid_t mine = this_thread_number();
  if (!first_thread_.compare_exchange_strong(first, mine) && first != mine) several_threads_ = true;
}

bool conductor::has_active() noexcept {
  const std::lock_guard lock{active_lock_};
  return !active_.empty();
}

// Each step by itself: other threads go on in between. A run with one thread is repeated exactly where that waits by calls.
void conductor::make_patient_steps() noexcept {
  using clock = std::chrono::steady_clock;
  is_patient_thread = true;
  std::uint64_t seen_submissions = 0;
  std::uint64_t seen_waits = 0;
  thread_watch program;  // since the last activity; where it has one thread
  long turns_before = 0;
  auto last_activity = clock::now();
  int noise = 0;
  for (;;) {
    std::this_thread::sleep_for(silence_before_patient_steps);
    const std::uint64_t submissions = submissions_.load(std::memory_order_relaxed);
    const std::uint64_t waits = waits_.load(std::memory_order_relaxed);
    const bool nobody_waits = waits == std::exchange(seen_waits, waits) && waiting_in_step_ == 0;
    const bool is_silent = submissions == std::exchange(seen_submissions, submissions) && nobody_waits;
    if (is_silent && !several_threads_ && has_active()) {
      const long turns = turns_of(first_thread_);
      const bool may_yield = turns == 0 || turns - turns_before >= turns_in_silence;  // 0: the kernel does not say
      if (!may_yield && program.time_had(clock::now() - last_activity) < run_in_silence) continue;
    }
    if (!is_silent) {
      program = {first_thread_, time_run(first_thread_)};
      turns_before = turns_of(first_thread_);
      last_activity = clock::now();
      noise = !nobody_waits && !several_threads_ ? 0 : noise + 1;
      if (noise < most_noise || (!several_threads_ && !timeline::anybody_is_to_be_told())) continue;
    }
    const auto end = is_silent ? clock::time_point::max() : clock::now() + time_in_noise;
    for (auto moved = stepped::short_work; moved != stepped::nothing && clock::now() < end;) {
      std::unique_lock lock{stepping_, std::defer_lock};
      if (!is_silent) {
        patient_waits_ = true;
        lock.lock();
        patient_waits_ = false;
      } else if (!lock.try_lock() || submissions_.load() != submissions || waits_.load() != waits) {
        break;
      }
      moved = step();
      noise = 0;
    }
  }
}

}  // namespace weir::embedded::engine
