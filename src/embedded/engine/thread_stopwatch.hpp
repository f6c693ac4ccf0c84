// SPDX-License-Identifier: Apache-2.0
// embedded/engine/thread_stopwatch.hpp - distinguishes a slow thread from a preempted one.
#pragma once

#include <chrono>

#include <sys/types.h>

namespace weir::embedded::engine {

// Returns the kernel's ID of the calling thread. The functions below accept IDs of threads of this
// process.
[[nodiscard]] pid_t this_thread_id() noexcept;

// Returns the CPU time that the thread has used; zero if it has exited.
[[nodiscard]] std::chrono::nanoseconds thread_cpu_time(pid_t thread) noexcept;

// Returns the number of times that the thread was scheduled; zero if the kernel does not report it.
[[nodiscard]] long timeslices_run(pid_t thread) noexcept;

// Lets a caller limit a wait for a thread by the time that the thread would need on an idle
// machine.
class thread_stopwatch {
 public:
  thread_stopwatch() = default;
  // Starts when the thread had used `cpu_time_before` of CPU time.
  thread_stopwatch(pid_t thread, std::chrono::nanoseconds cpu_time_before) noexcept
      : thread_{thread}, cpu_time_before_{cpu_time_before} {}

  // The part of `elapsed`, the time since the start, for which the thread was not preempted: its
  // CPU time if it is runnable now, else all of `elapsed`; all of it if /proc is not available.
  // Opens a file descriptor temporarily.
  [[nodiscard]] std::chrono::nanoseconds unpreempted_time(
      std::chrono::nanoseconds elapsed) const noexcept;

 private:
  pid_t thread_ = 0;
  std::chrono::nanoseconds cpu_time_before_{};
};

}  // namespace weir::embedded::engine
