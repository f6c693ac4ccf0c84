// engine/thread_time.cpp - what the kernel says of a thread.
#include "embedded/engine/thread_time.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <string_view>

namespace weir::embedded::engine {

namespace {

// Does it run, or would if it had a processor? Asked without memory and without streams.
bool is_ready(pid_t thread) noexcept {
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/stat", thread);
  const int descriptor = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  std::array<char, 64> line;  // number, (name), state, and so on; the name may hold parentheses
  const ssize_t size = ::read(descriptor, line.data(), line.size());
  ::close(descriptor);
  if (size <= 0) return false;
  const std::string_view text{line.data(), static_cast<std::size_t>(size)};
  const std::size_t name_ends = text.rfind(") ");
  return name_ends != std::string_view::npos && text.substr(name_ends + 2, 1) == "R";
}

}  // namespace

pid_t this_thread_number() noexcept {
  static thread_local const pid_t mine = ::gettid();
  return mine;
}

std::chrono::nanoseconds time_run(pid_t thread) noexcept {
  // The kernel's name of a thread's clock, which pthread_getcpuclockid makes as well, but only of a thread that is there.
  constexpr clockid_t of_thread_by_scheduler = 6;
  timespec run{};
  if (::clock_gettime(static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3U) | of_thread_by_scheduler, &run) != 0)
    return {};
  return std::chrono::seconds{run.tv_sec} + std::chrono::nanoseconds{run.tv_nsec};
}

bool is_kept(pid_t thread, std::chrono::nanoseconds run_before, std::chrono::nanoseconds enough) noexcept {
  return time_run(thread) - run_before < enough && is_ready(thread);
}

}  // namespace weir::embedded::engine
