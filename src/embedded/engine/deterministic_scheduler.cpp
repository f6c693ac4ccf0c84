// SPDX-License-Identifier: Apache-2.0
// embedded/engine/deterministic_scheduler.cpp - the deterministic schedules.
#include "embedded/engine/deterministic_scheduler.hpp"

#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "embedded/engine/driver_thread.hpp"
#include "embedded/engine/thread_stopwatch.hpp"
#include "embedded/engine/timeline.hpp"
#include "embedded/engine/value_waiters.hpp"
#include "embedded/engine/waiting.hpp"

namespace weir::embedded::engine {

using namespace std::chrono_literals;

namespace {

// How long a step waits for a host function or long work, which run on other threads. After that
// the schedule continues, because the operation may wait for the program or for another stream.
constexpr std::chrono::milliseconds host_function_timeout = 20ms;
constexpr std::chrono::milliseconds long_work_timeout = 50ms;
// The interval in which the background thread checks whether the program is active.
constexpr auto idle_time_before_steps = 4ms;
// The only program thread counts as inactive once it sleeps, and has made no call for the first
// time, or once it has run for the second time without a call. Time in which it waited for a
// processor does not count: it cannot have made a call. A thread that yields while it polls memory
// counts as inactive once it was scheduled this often.
constexpr auto sleep_before_steps = 2ms;
constexpr auto computation_before_steps = 20ms;
constexpr long timeslices_before_steps = 3;
// After max_busy_intervals intervals in a row with activity, the background thread makes steps for
// busy_step_time anyway.
constexpr int max_busy_intervals = 5;
constexpr auto busy_step_time = 1ms;

constinit thread_local bool is_background_thread = false;
// True while the calling thread makes a step. The operation may submit further ones.
constinit thread_local bool is_in_step = false;

}  // namespace

// Holds the step mutex, for one or more steps of the calling thread.
class deterministic_scheduler::step_section {
 public:
  explicit step_section(std::unique_lock<std::mutex> lock) noexcept : lock_{std::move(lock)} {
    is_in_step = true;
  }
  step_section(const step_section&) = delete;
  step_section& operator=(const step_section&) = delete;
  ~step_section() { is_in_step = false; }

 private:
  std::unique_lock<std::mutex> lock_;
};

deterministic_scheduler::deterministic_scheduler(schedule config) : strategy_{config} {
  // More streams than programs have, because a step must not need memory if none is left.
  constexpr std::size_t initial_capacity = 1024;
  active_.reserve(initial_capacity);
}

void deterministic_scheduler::on_submit(timeline& line) noexcept {
  record_activity(submissions_);
  submission_clock.fetch_add(1, std::memory_order_relaxed);
  {
    const std::lock_guard lock{active_lock_};
    if (!std::exchange(line.in_active_list, true)) active_.push_back(&line);
    if (line.schedule_number == 0) line.schedule_number = ++timelines_;
  }
  start_background_thread();
  if (!is_in_step && !turn_based_thread::is_this_thread()) make_program_steps();
}

void deterministic_scheduler::start_background_thread() noexcept {
  if (background_thread_started_.load(std::memory_order_relaxed) ||
      background_thread_started_.exchange(true))
    return;
  start_driver_thread("weir-idle-steps", [this] { make_background_steps(); });
}

// Makes the steps that the strategy allows before the program continues. Makes none concurrently
// with a step of another thread.
void deterministic_scheduler::make_program_steps() noexcept {
  std::unique_lock lock{step_mutex_, std::try_to_lock};
  if (!lock.owns_lock()) return;
  const step_section section{std::move(lock)};
  for (unsigned steps = strategy_.begin_program_steps(); steps > 0; --steps) {
    if (step(strategy_.lowest_rank_in_program_steps()) == step_result::nothing) break;
  }
  // Records the activity of a long step before the background thread can lock the mutex.
  record_activity(submissions_);
}

void deterministic_scheduler::run_until(point target, on_failure policy) noexcept {
  if (turn_based_thread::is_this_thread()) return run_in_turns_until(target, policy);
  library_thread_.give_turn();
  if (target.reached()) return;
  while (!target.reached()) {
    if (step_for(target) != step_result::nothing || target.reached()) continue;
    if (policy == on_failure::give_up && device_failure() != abi::CUDA_SUCCESS) return;
    library_thread_.give_turn();
    std::this_thread::sleep_for(100us);  // depends on other threads or on a value
  }
  make_program_steps();
}

// Called by the thread of the library. Other threads make the steps.
void deterministic_scheduler::run_in_turns_until(point target, on_failure policy) noexcept {
  while (!target.reached()) {
    if (policy == on_failure::give_up && device_failure() != abi::CUDA_SUCCESS) return;
    step_for(target);
  }
}

step_result deterministic_scheduler::step_for(point target) noexcept {
  auto result = step_result::nothing;
  if (turn_based_thread::is_this_thread()) {
    library_thread_.request_turn();
    library_thread_.take_turn();
    return result;
  }
  ++calls_in_progress_;
  // A thread that makes steps in a loop would take the mutex again before the background thread
  // wakes.
  while (background_step_pending_.load(std::memory_order_relaxed))
    std::this_thread::sleep_for(20us);
  {
    const step_section section{std::unique_lock{step_mutex_}};
    const std::uint64_t state_before = strategy_.generator_state();
    const bool any_timeline = strategy_.begin_wait_step() == step_strategy::choice::any;
    result = any_timeline ? step(all_ranks) : step_towards(target);
    if (result == step_result::nothing)
      result = any_timeline ? step_towards(target) : step(all_ranks);
    if (result == step_result::nothing) strategy_.reset_generator(state_before);
    record_activity(waits_);  // before the background thread can take the mutex
  }
  --calls_in_progress_;
  return result;
}

void deterministic_scheduler::step_or_sleep() noexcept {
  if (step_for({}) == step_result::nothing) std::this_thread::sleep_for(100us);
}

// Runs one operation of the timeline of the highest rank that can run. Returns step_result::nothing
// if no timeline of at least the lowest rank has an operation that can run.
step_result deterministic_scheduler::step(std::uint64_t lowest_rank) noexcept {
  notify_any_memory_written();  // the host, too, may have written since the last step
  const std::uint64_t state_before = strategy_.generator_state();
  strategy_.begin_step();
  // A timeline that turns out to be blocked is parked, and not found again.
  for (std::size_t tries = count_active(); tries > 0; --tries) {
    timeline* const line = find_highest_ranked(lowest_rank);
    if (line == nullptr) break;
    if (const step_result result = run_one(*line); result != step_result::nothing) return result;
  }
  strategy_.reset_generator(state_before);
  return step_result::nothing;
}

// Returns the timeline of the highest rank that may have an operation to run. Removes drained
// timelines from the list.
timeline* deterministic_scheduler::find_highest_ranked(std::uint64_t lowest_rank) noexcept {
  const std::lock_guard lock{active_lock_};
  std::erase_if(active_, [](timeline* line) {
    if (line->drained()) line->in_active_list = false;
    return !line->in_active_list;
  });
  timeline* highest = nullptr;
  std::uint64_t highest_rank = lowest_rank;
  for (timeline* const line : active_) {
    if ((line->state() & (timeline::owned | timeline::parked)) != 0) continue;
    // Another thread may have run its last operation since the removal above.
    if (line->drained()) continue;
    const std::uint64_t rank = strategy_.rank(*line);
    if (rank < highest_rank) continue;
    highest = line;
    highest_rank = rank;
  }
  return highest;
}

// Runs one operation that the point needs. Follows each blocked timeline to the timeline that it
// waits for.
step_result deterministic_scheduler::step_towards(point target) noexcept {
  constexpr int max_chain = 256;  // waits for values can form a cycle
  notify_any_memory_written();
  for (int links = 0; links < max_chain && !target.reached(); ++links) {
    if (const step_result result = run_one(*target.line); result != step_result::nothing)
      return result;
    target = target.line->blocked_on();
  }
  return step_result::nothing;
}

step_result deterministic_scheduler::run_one(timeline& line) noexcept {
  if (!line.try_own()) return step_result::nothing;
  const std::uint64_t completed_before = line.completed();
  offloaded_.expect_offload(line);
  const stop_reason reason = line.run(runner_kind::step, completed_before + 1);
  auto result = step_result::long_work;
  if (reason == stop_reason::host) {
    offloaded_.wait_until_finished(offload_target::host_thread, host_function_timeout);
  } else if (reason == stop_reason::offloaded) {
    offloaded_.wait_until_finished(offload_target::long_work_threads, long_work_timeout);
  } else if (line.completed() != completed_before) {
    result = step_result::short_work;
  } else {
    return step_result::nothing;
  }
  strategy_.on_step(line);
  order_ = (order_ ^ line.schedule_number) * 0x100000001b3;  // FNV-1a
  return result;
}

// Counts a submission or a step of a waiting thread as activity of the program. Ignores submissions
// from within a background step.
void deterministic_scheduler::record_activity(std::atomic<std::uint64_t>& counter) noexcept {
  if (is_background_thread || turn_based_thread::is_this_thread()) return;
  counter.fetch_add(1, std::memory_order_relaxed);
  if (multiple_threads_.load(std::memory_order_relaxed)) return;
  pid_t first_active = 0;
  const pid_t self = this_thread_id();
  if (!first_thread_.compare_exchange_strong(first_active, self) && first_active != self)
    multiple_threads_ = true;
}

std::size_t deterministic_scheduler::count_active() noexcept {
  const std::lock_guard lock{active_lock_};
  return active_.size();
}

// Finds out for the background thread whether the program is active.
class deterministic_scheduler::activity_monitor {
 public:
  explicit activity_monitor(deterministic_scheduler& monitored) noexcept : monitored_{monitored} {}

  // Compares the activity with that at the last call, an interval ago. Returns true if the
  // background thread has to make steps.
  [[nodiscard]] bool needs_steps() noexcept {
    const std::uint64_t submissions = monitored_.submissions_.load(std::memory_order_relaxed);
    const std::uint64_t waits = monitored_.waits_.load(std::memory_order_relaxed);
    const bool has_waited =
        waits != std::exchange(seen_waits_, waits) || monitored_.calls_in_progress_ != 0;
    is_idle_ = submissions == std::exchange(seen_submissions_, submissions) && !has_waited;
    const bool multiple_threads = monitored_.multiple_threads_;
    // Without active timelines a step does nothing, so /proc need not be read.
    if (is_idle_)
      return multiple_threads || monitored_.count_active() == 0 || has_run_since_activity();
    const pid_t thread = monitored_.first_thread_;
    program_thread_ = {thread, thread_cpu_time(thread)};
    timeslices_before_ = timeslices_run(thread);
    last_activity_ = clock::now();
    // A single thread that waits makes the steps itself.
    busy_intervals_ = has_waited && !multiple_threads ? 0 : busy_intervals_ + 1;
    return busy_intervals_ >= max_busy_intervals && (multiple_threads || timeline::has_callbacks());
  }

  // Returns true if the program was inactive in the interval before needs_steps().
  [[nodiscard]] bool is_idle() const noexcept { return is_idle_; }

  // Returns true if the program has been active since needs_steps().
  [[nodiscard]] bool has_changed() const noexcept {
    return monitored_.submissions_.load() != seen_submissions_ ||
           monitored_.waits_.load() != seen_waits_;
  }

  // Called when the background thread makes a step.
  void on_step() noexcept { busy_intervals_ = 0; }

 private:
  using clock = std::chrono::steady_clock;

  // Returns true if the program's only thread has run or slept for so long that it does not seem to
  // make a call.
  [[nodiscard]] bool has_run_since_activity() const noexcept {
    const long timeslices = timeslices_run(monitored_.first_thread_);
    const auto limit =
        program_thread_.is_runnable() ? computation_before_steps : sleep_before_steps;
    return timeslices == 0 ||  // the kernel does not report it
           timeslices - timeslices_before_ >= timeslices_before_steps ||
           program_thread_.unpreempted_time(clock::now() - last_activity_) >= limit;
  }

  deterministic_scheduler& monitored_;
  bool is_idle_ = false;
  std::uint64_t seen_submissions_ = 0;
  std::uint64_t seen_waits_ = 0;
  thread_stopwatch program_thread_;  // since the last activity; used if the program has one thread
  long timeslices_before_ = 0;
  clock::time_point last_activity_ = clock::now();
  int busy_intervals_ = 0;
};

// Makes steps while the program is inactive, and some steps after max_busy_intervals. A run of a
// single-threaded program is repeatable exactly if the program waits only by driver calls.
void deterministic_scheduler::make_background_steps() noexcept {
  using clock = std::chrono::steady_clock;
  is_background_thread = true;
  activity_monitor monitor{*this};
  for (;;) {
    std::this_thread::sleep_for(idle_time_before_steps);
    if (!monitor.needs_steps()) continue;
    library_thread_.give_turn();
    const auto end = monitor.is_idle() ? clock::time_point::max() : clock::now() + busy_step_time;
    while (clock::now() < end && make_background_step(monitor) != step_result::nothing) {
    }
  }
}

// Takes the mutex for each step separately, so that other threads can make steps in between.
step_result deterministic_scheduler::make_background_step(activity_monitor& monitor) noexcept {
  std::unique_lock lock{step_mutex_, std::defer_lock};
  if (monitor.is_idle()) {
    if (!lock.try_lock() || monitor.has_changed()) return step_result::nothing;
  } else {
    background_step_pending_ = true;
    lock.lock();
    background_step_pending_ = false;
  }
  monitor.on_step();
  const step_section section{std::move(lock)};
  return step(all_ranks);
}

}  // namespace weir::embedded::engine
