// engine/scheduler.hpp - the driver's threads, and which timeline they run next.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "embedded/engine/offloaded_operation.hpp"
#include "embedded/engine/parallel_task.hpp"
#include "embedded/engine/ready_list.hpp"
#include "embedded/engine/schedule.hpp"
#include "embedded/engine/spare_workers.hpp"
#include "embedded/engine/timeline.hpp"
#include "embedded/engine/worker_parking.hpp"

namespace weir::embedded::engine {

class deterministic_scheduler;

// Workers run what is listed; one more thread runs all host functions, as on a GPU. Threads are
// started when there is first something for them to do, and sleep when there is nothing. Where all
// workers are held up, by kernels that spin until others have done something, there are more of
// them. One scheduler a process, never destroyed.
//
// Thread safety: all members, from any thread; configure() before the first operation.
class scheduler {
 public:
  static scheduler& instance() noexcept;

  void configure(schedule config);
  [[nodiscard]] schedule current_schedule() const noexcept { return schedule_; }
  [[nodiscard]] schedule_kind kind() const noexcept { return schedule_.kind; }
  [[nodiscard]] unsigned max_workers() const noexcept { return max_workers_; }

  // Do deterministic steps take the place of workers (schedule_kind::random and late)?
  [[nodiscard]] bool is_deterministic() const noexcept { return deterministic_ != nullptr; }
  void on_submit(timeline& line) noexcept;  // stepping: there is something to run
  void run_until(point target,
                 on_failure policy) noexcept;   // stepping: makes steps until the point is reached
  step_result step_for(point target) noexcept;  // stepping: makes one of these steps

  // Takes a timeline that is marked as listed, and sees to it that a worker is awake.
  void enqueue(timeline& line) noexcept;

  // Lets workers with nothing else to do take part in an operation that the calling thread runs;
  // and ends that, when those who came have done their share. Only where the schedule is parallel.
  void publish(parallel_task& work) noexcept;
  void retract(parallel_task& work) noexcept { parallel_tasks_.remove(work); }
  [[nodiscard]] bool has_other_work() const noexcept { return !ready_.empty(); }

  // Takes a parked timeline whose next operation is a host function.
  void offload_to_host_thread(timeline& line) noexcept;

  // Stepping: takes a parked timeline whose next operation may take long, or for ever.
  void offload_to_long_work_thread(timeline& line) noexcept;

 private:
  class recent_timelines;

  // Threads that are given timelines of which they run the next operation.
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
  std::uint32_t slice_;  // operations of one timeline before the next has its turn
  std::unique_ptr<deterministic_scheduler> deterministic_;  // null unless stepping

  alignas(64) ready_list ready_;
  worker_parking workers_;
  spare_workers spare_workers_;
  std::atomic<std::uint32_t> watching_{0};  // 1: a thread looks whether workers are held up
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
