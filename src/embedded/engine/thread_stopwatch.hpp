// engine/thread_stopwatch.hpp - is a thread slow, or has it been kept from its processor?
#pragma once

#include <chrono>

#include <sys/types.h>

namespace weir::embedded::engine {

// Threads of this process, by the kernel's numbers.
[[nodiscard]] pid_t this_thread_id() noexcept;

// So far on a processor; zero for a thread that is gone.
[[nodiscard]] std::chrono::nanoseconds thread_cpu_time(pid_t thread) noexcept;

// So often it has been given one; zero where the kernel does not say.
[[nodiscard]] long timeslices_run(pid_t thread) noexcept;

// For who waits for a thread only as long as it would take on an idle machine.
class thread_stopwatch {
 public:
  thread_stopwatch() = default;
  // From when the thread had run for so long.
  thread_stopwatch(pid_t thread, std::chrono::nanoseconds cpu_time_before) noexcept
      : thread_{thread}, cpu_time_before_{cpu_time_before} {}

  // Of the time that has passed since then, what the thread has had. That is all of it, unless it
  // would go on now if it had a processor: then, what it had one for. Where the kernel says nothing
  // it is all. Opens a descriptor for a moment.
  [[nodiscard]] std::chrono::nanoseconds unpreempted_time(
      std::chrono::nanoseconds elapsed) const noexcept;

 private:
  pid_t thread_ = 0;
  std::chrono::nanoseconds cpu_time_before_{};
};

}  // namespace weir::embedded::engine
