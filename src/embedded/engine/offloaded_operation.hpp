// SPDX-License-Identifier: Apache-2.0
// embedded/engine/offloaded_operation.hpp - an operation that a scheduling step passes to another
// thread, and how long the step waits for it.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace weir::embedded::engine {

class timeline;

// The threads to which a step can pass a timeline. A step is the run of one operation under a
// deterministic schedule. A timeline is the sequence of operations of a stream.
enum class offload_target : std::uint8_t { host_thread, long_work_threads };

// Tracks the operation that the current step has passed on; one step runs at a time. An operation
// whose wait timed out continues. Its end is then ignored, because it has the number of an earlier
// step.
class offloaded_operation {
 public:
  // The number of a step, in the bits above the stage. Numbers repeat after 2^30 steps.
  enum class step_number : std::uint32_t {};
  // Returned by on_start() for an operation for which no step waits.
  static constexpr step_number no_step{1};

  // Called by the step before it runs this timeline. The step may pass the next operation of the
  // timeline to another thread.
  void expect_offload(const timeline& line) noexcept;
  // Returns when the operation has run and its thread has released the timeline, or when the
  // operation has run or slept for `timeout`. Time in which its thread waits for a processor does
  // not count. The wait never takes longer than 10 times `timeout`.
  void wait_until_finished(offload_target target, std::chrono::nanoseconds timeout) noexcept;

  // Called by the thread that runs an operation of the timeline, before it runs it. Returns the
  // step that waits for the operation.
  step_number on_start(const timeline& line, offload_target target) noexcept;
  // Called by the thread that has run the operation of a step, after it has released the timeline.
  void on_finish(step_number step, offload_target target) noexcept;

 private:
  enum stage : std::uint32_t { not_started, started, finished, stage_mask };

  [[nodiscard]] bool wait_finished_for(std::chrono::nanoseconds limit) noexcept;
  [[nodiscard]] stage current_stage() const noexcept {
    return static_cast<stage>(stage_.load() & stage_mask);
  }
  [[nodiscard]] std::atomic<int>& running(offload_target target) noexcept {
    return running_[static_cast<std::size_t>(target)];
  }

  std::atomic<const timeline*> line_{nullptr};  // of the current step; others are ignored
  // The number of the current step and its stage: the futex word of wait_finished_for().
  std::atomic<std::uint32_t> stage_{not_started};
  std::atomic<pid_t> thread_{0};  // the thread that has started the operation
  // The CPU time that thread_ had used before the operation.
  std::atomic<std::chrono::nanoseconds> cpu_time_before_{};
  // The numbers of running operations by offload_target, including those whose wait timed out.
  std::array<std::atomic<int>, 2> running_{};
};

}  // namespace weir::embedded::engine
