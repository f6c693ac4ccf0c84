// engine/thread_time.hpp - is a thread slow, or has it been kept from its processor?
#pragma once

#include <chrono>

#include <sys/types.h>

namespace weir::embedded::engine {

// Threads of this process, by the kernel's numbers.
[[nodiscard]] pid_t this_thread_number() noexcept;

// So far on a processor; zero for a thread that is gone.
[[nodiscard]] std::chrono::nanoseconds time_run(pid_t thread) noexcept;

// Would it go on if it had a processor, and has had less than enough of one since it had run for so long? Who waits for a thread
// only as long as it would take on an idle machine asks this at the end.
[[nodiscard]] bool is_kept(pid_t thread, std::chrono::nanoseconds run_before, std::chrono::nanoseconds enough) noexcept;

}  // namespace weir::embedded::engine
