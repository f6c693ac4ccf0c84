// SPDX-License-Identifier: Apache-2.0
// embedded/engine/deterministic_scheduler.hpp - deterministic schedules: one operation at a time,
// chosen by a seed.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <vector>

#include "embedded/engine/offloaded_operation.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/engine/schedule.hpp"
#include "os/spin_lock.hpp"

namespace weir::embedded::engine {

class timeline;

// Replaces the workers under schedule_kind::random and late (schedule.hpp). Operations run on the
// threads that submit and wait. A step is the run of one operation; one step runs at a time. The
// stream of each step follows only from the seed and the program's calls, so a run with one thread
// is repeatable exactly. Host functions and long work run on other threads, for which the step
// waits. A timeline is the sequence of operations of a stream; a point is a position in it.
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

  // Called after a submission to a timeline. Under schedule_kind::random, makes up to two steps.
  void on_submit(timeline& line) noexcept;

  // Makes steps until the point is reached, or until the device has failed under
  // on_failure::give_up.
  void run_until(point target, on_failure policy) noexcept;
  // Makes one step for a thread that waits for the point. Under schedule_kind::random, it runs an
  // operation of any timeline. Under schedule_kind::late, it runs an operation that the point
  // needs, and in one of eight steps on average an operation of any timeline. If the chosen way
  // finds no operation, the step tries the other way. Returns step_result::nothing if no operation
  // could run.
  step_result step_for(point target) noexcept;

  // Returns the object that tracks the operation that the current step passes to another thread.
  [[nodiscard]] offloaded_operation& offloaded() noexcept { return offloaded_; }

 private:
  step_result step() noexcept;                      // runs one operation of any timeline
  step_result step_towards(point target) noexcept;  // runs one operation that the point needs
  step_result run_one(timeline& line) noexcept;
  struct scan_state {
    std::size_t position = 0;   // the index in active_ at which the scan continues
    std::size_t remaining = 0;  // timelines left to scan
    bool started = false;       // false before the first next_to_run(), which sets `remaining`
  };
  [[nodiscard]] timeline* next_to_run(scan_state& scan) noexcept;
  void record_activity(std::atomic<std::uint64_t>& counter) noexcept;
  class activity_monitor;
  [[nodiscard]] bool has_active() noexcept;
  void make_background_steps() noexcept;
  step_result make_background_step(activity_monitor& monitor) noexcept;

  const schedule schedule_;
  std::mutex step_mutex_;   // held during a step; a submission that cannot lock it makes no steps
  std::mt19937_64 random_;  // guarded by step_mutex_

  os::spin_lock active_lock_;
  std::vector<timeline*> active_;  // timelines that may have work; only a step removes one

  offloaded_operation offloaded_;
  // Submissions so far, including the steps that they ran.
  std::atomic<std::uint64_t> submissions_{0};
  std::atomic<std::uint64_t> waits_{0};  // steps so far of waiting threads
  // The number of waiting threads in step_for(). A step may take long, which does not count as
  // inactivity.
  std::atomic<int> waits_in_progress_{0};
  std::atomic<bool> background_step_pending_{false};  // the background thread waits for step_mutex_
  std::atomic<pid_t> first_thread_{0};                // the first program thread that was active
  std::atomic<bool> multiple_threads_{false};         // other program threads were active
  std::atomic<bool> background_thread_started_{false};
};

}  // namespace weir::embedded::engine
