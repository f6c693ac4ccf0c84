// SPDX-License-Identifier: Apache-2.0
// embedded/engine/scheduler.hpp - the driver's threads, and the timeline that each runs next.
#pragma once

#include <array>
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

// Workers run the timelines in the ready list. A timeline is the sequence of operations of a
// stream. One more thread, the host thread, runs all host functions, as on a GPU. Threads start
// when they first have something to do, and sleep when idle. If all workers are blocked by kernels
// that spin until other work is done, more workers are started. One scheduler per process, never
// destroyed.
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

  // Returns the scheduler whose steps replace the workers under the deterministic schedules; null
  // under schedule_kind::parallel and serial.
  [[nodiscard]] deterministic_scheduler* deterministic() const noexcept {
    return deterministic_.get();
  }

  // Adds a timeline to the ready list, and ensures that a worker is awake. The caller has called
  // timeline::mark_queued() or unmark_queued(), which returned true.
  void enqueue(timeline& line) noexcept;

  // Lets idle workers take part in an operation that the calling thread runs. For the parallel
  // schedule only.
  void publish(parallel_task& work) noexcept;
  // Ends publish(). Returns when the workers that joined have finished their share.
  void retract(parallel_task& work) noexcept { parallel_tasks_.remove(work); }
  // Returns true if a timeline waits for a worker.
  [[nodiscard]] bool has_other_work() const noexcept { return !ready_.empty(); }

  // Passes a timeline to the threads of `target`, which run its next operation. The caller has
  // parked the timeline: no other thread can then become its owner. offload_target::host_thread is
  // for host functions. offload_target::long_work_threads is for operations that may take long or
  // never end; only a deterministic schedule uses it.
  void offload(timeline& line, offload_target target) noexcept;

 private:
  class recent_timelines;

  // The threads of an offload_target. They take timelines and run the next operation of each.
  struct alignas(64) offload_threads {
    const char* name;
    runner_kind role;
    offload_target target;
    unsigned max_threads;
    host_list queue{};
    worker_parking parking{};
  };

  scheduler();
  void worker_main() noexcept;
  timeline* run_chain(timeline& first) noexcept;
  timeline* take_runnable_timeline(recent_timelines& recent) noexcept;
  bool join_parallel_task(recent_timelines& recent) noexcept;
  void sleep_until_woken() noexcept;
  void wake_or_start_worker() noexcept;
  void start_worker() noexcept;
  void start_watchdog() noexcept;
  void watchdog_main() noexcept;
  void wake_or_start_thread(offload_threads& group) noexcept;
  void run_offloaded(offload_threads& group) noexcept;

  schedule schedule_;
  unsigned max_workers_;
  std::uint32_t operations_per_turn_;  // of one timeline, before a worker takes another timeline
  std::unique_ptr<deterministic_scheduler> deterministic_;

  alignas(64) ready_list ready_;
  worker_parking workers_;
  spare_workers spare_workers_;
  // 1: the watchdog thread checks whether all workers are blocked. 0: it sleeps.
  std::atomic<std::uint32_t> watching_{0};
  std::atomic<bool> watchdog_started_{false};
  parallel_task_list parallel_tasks_;

  std::array<offload_threads, 2> offload_threads_{{
      {"weir-host", runner_kind::host_thread, offload_target::host_thread, 1},
      {"weir-step", runner_kind::worker, offload_target::long_work_threads,
       spare_workers::max_count},
  }};
};

}  // namespace weir::embedded::engine
