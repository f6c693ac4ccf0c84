// SPDX-License-Identifier: Apache-2.0
// embedded/engine/deterministic_scheduler.hpp - deterministic schedules: one operation at a time,
// chosen by a seed.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "embedded/engine/offloaded_operation.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/engine/schedule.hpp"
#include "embedded/engine/step_strategy.hpp"
#include "embedded/engine/turn_based_thread.hpp"
#include "os/spin_lock.hpp"

namespace weir::embedded::engine {

class timeline;

// Replaces the workers under the deterministic schedules (schedule.hpp). Operations run on the
// threads that submit and wait. A step is the run of one operation; one step runs at a time. The
// stream of each step follows only from the seed and the program's calls (step_strategy.hpp), so a
// run with one thread is repeatable exactly. Host functions and long work run on other threads, for
// which the step waits. The thread of the library above the driver makes no steps and runs in turns
// (turn_based_thread.hpp). A timeline is the sequence of operations of a stream; a point is a
// position in it.
//
// Three things depend on time:
// - A step waits for another thread for a limited time, because a kernel may spin until another
//   stream has run.
// - A program may wait by polling memory without a call. A background thread therefore makes steps
//   after a time without calls and steps.
// - With several program threads, or with a registered callback (timeline::add_callback), the
//   program may never be without calls. The background thread then makes some steps anyway.
// Time in which a busy machine preempts a thread does not count in the first two cases
// (offloaded_operation.hpp, thread_stopwatch.hpp).
//
// Thread safety: all members may be called from any thread.
class deterministic_scheduler {
 public:
  explicit deterministic_scheduler(schedule config);

  // Called after a submission to a timeline. Makes the steps that the strategy allows.
  void on_submit(timeline& line) noexcept;

  // Makes steps until the point is reached, or until the device has failed under
  // on_failure::give_up.
  void run_until(point target, on_failure policy) noexcept;
  // Makes one step for a thread that waits for the point: runs an operation of any timeline, or one
  // that the point needs, as the strategy chooses. If the chosen way finds no operation, the step
  // tries the other way. Returns step_result::nothing if no operation could run. On the library's
  // own thread, ends its turn instead, and returns when it has the next one.
  step_result step_for(point target) noexcept;
  // Makes one step for a thread that waits for the library's own thread. If no operation can run,
  // sleeps for a short time.
  void step_or_sleep() noexcept;

  // Returns the thread of the library above the driver.
  [[nodiscard]] turn_based_thread& library_thread() noexcept { return library_thread_; }
  // Starts the thread that gives turns while the program makes no calls.
  void start_background_thread() noexcept;

  // Enclose a call that may take long, during which the program is not inactive.
  void begin_long_call() noexcept { ++calls_in_progress_; }
  void end_long_call() noexcept { --calls_in_progress_; }

  // Returns a number that follows from the order of all steps so far, for tests.
  [[nodiscard]] std::uint64_t order() const noexcept { return order_; }
  // Returns true if several threads of the program were active, so that the order may depend on
  // time.
  [[nodiscard]] bool has_multiple_threads() const noexcept { return multiple_threads_; }

  // Returns the object that tracks the operation that the current step passes to another thread.
  [[nodiscard]] offloaded_operation& offloaded() noexcept { return offloaded_; }

 private:
  class step_section;
  class activity_monitor;
  static constexpr std::uint64_t all_ranks = 0;

  void make_program_steps() noexcept;
  step_result step(std::uint64_t lowest_rank) noexcept;  // runs one operation of any timeline
  step_result step_towards(point target) noexcept;       // runs one operation that the point needs
  step_result run_one(timeline& line) noexcept;
  void run_in_turns_until(point target, on_failure policy) noexcept;
  [[nodiscard]] timeline* find_highest_ranked(std::uint64_t lowest_rank) noexcept;
  void record_activity(std::atomic<std::uint64_t>& counter) noexcept;
  [[nodiscard]] std::size_t count_active() noexcept;
  void make_background_steps() noexcept;
  step_result make_background_step(activity_monitor& monitor) noexcept;

  std::mutex step_mutex_;   // held during a step; a submission that cannot lock it makes no steps
  step_strategy strategy_;  // guarded by step_mutex_
  std::atomic<std::uint64_t> order_{0};  // changed by steps
  turn_based_thread library_thread_;

  os::spin_lock active_lock_;
  std::vector<timeline*> active_;  // timelines that may have work; only a step removes one
  std::uint32_t timelines_ = 0;    // timelines so far, guarded by active_lock_

  offloaded_operation offloaded_;
  // Submissions so far, including the steps that they ran.
  std::atomic<std::uint64_t> submissions_{0};
  std::atomic<std::uint64_t> waits_{0};  // steps so far of waiting threads
  // The number of threads in step_for() or in a long call, which does not count as inactivity.
  std::atomic<int> calls_in_progress_{0};
  std::atomic<bool> background_step_pending_{false};  // the background thread waits for step_mutex_
  std::atomic<pid_t> first_thread_{0};                // the first program thread that was active
  std::atomic<bool> multiple_threads_{false};         // other program threads were active
  std::atomic<bool> background_thread_started_{false};
};

}  // namespace weir::embedded::engine
