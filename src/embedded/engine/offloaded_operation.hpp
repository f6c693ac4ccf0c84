// engine/offloaded_operation.hpp - an operation that a step leaves to a thread of its own, and for
// how long the step waits for it.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace weir::embedded::engine {

class timeline;

// The threads to which steps pass on timelines.
enum class offload_target : std::uint8_t { host_thread, long_work_threads };

// One step at a time passes something on. What it has given up waiting for goes on, and is not
// taken for what comes later.
class offloaded_operation {
 public:
  // Of the step: it may pass this timeline on now.
  void expect(const timeline& line) noexcept;
  // Returns when the operation has run and its thread has let go of the timeline; or when it has
  // had so much time, in which it was not kept from its processor.
  void wait(offload_target target, std::chrono::nanoseconds timeout) noexcept;

  // Of the thread: it begins with an operation of this timeline; it has let go.
  void on_start(const timeline& line, offload_target target) noexcept;
  void on_finish(const timeline& line, offload_target target) noexcept;

 private:
  enum stage : std::uint32_t { not_started, started, finished };

  [[nodiscard]] bool wait_for(std::chrono::nanoseconds limit) noexcept;
  [[nodiscard]] std::atomic<int>& running(offload_target target) noexcept {
    return running_[static_cast<std::size_t>(target)];
  }

  std::atomic<const timeline*> line_{nullptr};
  std::atomic<std::uint32_t> stage_{not_started};  // slept on
  std::atomic<pid_t> thread_{0};                   // that has begun
  std::atomic<std::chrono::nanoseconds> cpu_time_before_{};
  std::array<std::atomic<int>, 2> running_{};  // operations, those that were given up included
};

}  // namespace weir::embedded::engine
