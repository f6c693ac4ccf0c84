// engine/thread_watch.hpp - is a thread slow, or has it been kept from its processor?
#pragma once

#include <chrono>

#include <sys/types.h>

namespace weir::embedded::engine {

// Threads of this process, by the kernel's numbers.
[[nodiscard]] pid_t this_thread_number() noexcept;

// So far on a processor; zero for a thread that is gone.
[[nodiscard]] std::chrono::nanoseconds time_run(pid_t thread) noexcept;

// So often it has been given one; zero where the kernel does not say.
[[nodiscard]] long turns_of(pid_t thread) noexcept;

// For who waits for a thread only as long as it would take on an idle machine.
class thread_watch {
 public:
  thread_watch() = default;
  // From when the thread had run for so long.
  thread_watch(pid_t thread, std::chrono::nanoseconds run_before) noexcept : thread_{thread}, run_before_{run_before} {}

  // Of the time that has passed since then, what the thread has had. That is all of it, unless it would go on now if it had a
  // processor: then, what it had one for. Where the kernel says nothing it is all. Opens a descriptor for a moment.
  [[nodiscard]] std::chrono::nanoseconds time_had(std::chrono::nanoseconds passed) const noexcept;

 private:
  pid_t thread_ = 0;
  std::chrono::nanoseconds run_before_{};
};

}  // namespace weir::embedded::engine
