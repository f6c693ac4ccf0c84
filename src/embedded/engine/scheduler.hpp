// SPDX-License-Identifier: Apache-2.0
// embedded/engine/scheduler.hpp - the driver's threads, and the timeline that each runs next.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "embedded/engine/offloaded_operation.hpp"
#include "embedded/engine/parallel_task.hpp"
#include "embedded/engine/schedule.hpp"
#include "embedded/engine/timeline.hpp"
#include "embedded/engine/worker_parking.hpp"

namespace weir::embedded::engine {

class deterministic_scheduler;

// Workers run the timelines in the ready list. One more thread runs all host functions, as on a
// GPU. Threads start when they first have something to do, and sleep when idle. If all workers are
// blocked, by kernels that spin until other work is done, more are started. One scheduler per
// process, never destroyed.
//
// Thread safety: all members may be called from any thread; configure() only before the first
// operation.
class scheduler {
 public:
  static scheduler& instance() noexcept;

  void configure(schedule config);
  [[nodiscard]] schedule current_schedule() const noexcept { return schedule_; }
  [[nodiscard]] schedule_kind kind() const noexcept { return schedule_.kind; }
  [[nodiscard]] unsigned max_workers() const noexcept { return max_workers_; }

  // Returns true if deterministic steps replace the workers (schedule_kind::random and late).
  [[nodiscard]] bool is_deterministic() const noexcept { return deterministic_ != nullptr; }
  // For deterministic schedules only. on_submit() reports submitted work, run_until() makes steps
  // until the point is reached, and step_for() makes one of these steps.
  void on_submit(timeline& line) noexcept;
  void run_until(point target, on_failure policy) noexcept;
  step_result step_for(point target) noexcept;

  // Adds a timeline that is marked as queued to the ready list, and ensures that a worker is awake.
  void enqueue(timeline& line) noexcept;

  // publish() lets idle workers take part in an operation that the calling thread runs. retract()
  // ends that, and returns when the workers that joined have finished their share. For the parallel
  // schedule only.
  void publish(parallel_task& work) noexcept;
  void retract(parallel_task& work) noexcept { parallel_tasks_.remove(work); }
  [[nodiscard]] bool has_other_work() const noexcept { return !ready_.empty(); }

  // Takes a parked timeline whose next operation is a host function.
  void offload_to_host_thread(timeline& line) noexcept;

  // Deterministic: takes a parked timeline whose next operation may take long, or may never end.
  void offload_to_long_work_thread(timeline& line) noexcept;

 private:
  class recent_timelines;

  // Threads that take timelines and run the next operation of each.
  struct offload_threads {
    const char* name;
    runner_kind role;
    offload_target target;
    unsigned max_threads;
    host_list queue;
    worker_parking parking;
  };

  scheduler();
  void worker_main() noexcept;
  timeline* run_chain(timeline& first) noexcept;
  timeline* take(recent_timelines& recent) noexcept;
  bool participate(recent_timelines& recent) noexcept;
  void sleep() noexcept;
  void wake_or_start_worker() noexcept;
  void start_worker() noexcept;
  void start_watchdog() noexcept;
  void watchdog_main() noexcept;
  void offload(timeline& line, offload_threads& group) noexcept;
  void wake_or_start_thread(offload_threads& group) noexcept;
  void run_offloaded(offload_threads& group) noexcept;

  schedule schedule_;
  unsigned max_workers_;
  std::uint32_t slice_;  // operations of a timeline before the next timeline's turn
  // Null unless the schedule is deterministic.
  std::unique_ptr<deterministic_scheduler> deterministic_;

  alignas(64) ready_list ready_;
  worker_parking workers_;
  spare_workers spare_workers_;
  // 1: the watchdog checks whether all workers are blocked.
  std::atomic<std::uint32_t> watching_{0};
  std::atomic<bool> watchdog_started_{false};
  parallel_task_list parallel_tasks_;

  alignas(64) offload_threads host_thread_{
      "weir-host", runner_kind::host_thread, offload_target::host_thread, 1, {}, {}};
  alignas(64) offload_threads long_work_threads_{"weir-step",
                                                 runner_kind::worker,
                                                 offload_target::long_work_threads,
                                                 spare_workers::max_count,
                                                 {},
                                                 {}};
};

}  // namespace weir::embedded::engine
