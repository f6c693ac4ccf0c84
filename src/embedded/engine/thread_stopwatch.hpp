// SPDX-License-Identifier: Apache-2.0
// embedded/engine/thread_stopwatch.hpp - distinguishes a slow thread from a preempted one.
#pragma once

#include <chrono>

#include <sys/types.h>

namespace weir::embedded::engine {

// Returns the kernel's ID of the calling thread.
[[nodiscard]] pid_t this_thread_id() noexcept;

// Returns the CPU time that a thread of this process has used; zero if it has exited.
[[nodiscard]] std::chrono::nanoseconds thread_cpu_time(pid_t thread) noexcept;

// Returns the number of times that a thread of this process was scheduled; zero if the kernel does
// not report it.
[[nodiscard]] long timeslices_run(pid_t thread) noexcept;

// Lets a caller limit a wait for a thread by the time that the thread would need on an idle
// machine.
class thread_stopwatch {
 public:
  thread_stopwatch() = default;
  // Starts when the thread had used `cpu_time_before` of CPU time.
  thread_stopwatch(pid_t thread, std::chrono::nanoseconds cpu_time_before) noexcept
      : thread_{thread}, cpu_time_before_{cpu_time_before} {}

  // Returns the part of `elapsed`, the time since the start, for which the thread was not
  // preempted. If the thread is runnable now, this is the CPU time that it has used since the
  // start. If it sleeps or has exited, or if /proc is not available, this is all of `elapsed`.
  // Opens a file descriptor temporarily.
  [[nodiscard]] std::chrono::nanoseconds unpreempted_time(
      std::chrono::nanoseconds elapsed) const noexcept;

  // Returns true if the thread is running or waiting for a processor.
  [[nodiscard]] bool is_runnable() const noexcept;

 private:
  pid_t thread_ = 0;
  std::chrono::nanoseconds cpu_time_before_{};
};

}  // namespace weir::embedded::engine
