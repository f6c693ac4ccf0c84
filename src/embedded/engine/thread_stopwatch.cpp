// SPDX-License-Identifier: Apache-2.0
// embedded/engine/thread_stopwatch.cpp - reads scheduling information about a thread from the
// kernel.
#include "embedded/engine/thread_stopwatch.hpp"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <string_view>

namespace weir::embedded::engine {

namespace {

using namespace std::chrono_literals;

struct proc_line {
  std::array<char, 96> bytes;
  std::size_t size = 0;

  [[nodiscard]] std::string_view text() const noexcept { return {bytes.data(), size}; }
};

// Reads the start of a file of /proc/self/task without allocating memory. Returns an empty text if
// the thread has exited or no descriptor is available.
proc_line read_proc_file(pid_t thread, const char* file) noexcept {
  proc_line result;
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/%s", thread, file);
  const int descriptor = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return result;
  const ssize_t size = ::read(descriptor, result.bytes.data(), result.bytes.size());
  ::close(descriptor);
  if (size > 0) result.size = static_cast<std::size_t>(size);
  return result;
}

}  // namespace

pid_t this_thread_id() noexcept {
  static thread_local const pid_t id = ::gettid();
  return id;
}

std::chrono::nanoseconds thread_cpu_time(pid_t thread) noexcept {
  // The kernel's encoding of a thread's CPU clock. pthread_getcpuclockid() computes it too, but
  // only for a thread that has not exited.
  constexpr clockid_t thread_cpu_clock = 6;
  timespec cpu_time{};
  const auto clock =
      static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3U) | thread_cpu_clock;
  if (::clock_gettime(clock, &cpu_time) != 0) return {};
  return std::chrono::seconds{cpu_time.tv_sec} + std::chrono::nanoseconds{cpu_time.tv_nsec};
}

long timeslices_run(pid_t thread) noexcept {
  // Nanoseconds run, nanoseconds waited, number of timeslices.
  const proc_line schedstat = read_proc_file(thread, "schedstat");
  const std::string_view text = schedstat.text();
  const std::size_t last_space = text.rfind(' ');
  if (last_space == std::string_view::npos) return 0;
  long timeslices = 0;
  std::from_chars(text.data() + last_space + 1, text.data() + text.size(), timeslices);
  return timeslices;
}

bool thread_stopwatch::is_runnable() const noexcept {
  const proc_line stat =
      read_proc_file(thread_, "stat");  // id, (name), state, ...; the name may contain parentheses
  const std::size_t name_ends = stat.text().rfind(") ");
  return name_ends != std::string_view::npos && stat.text().substr(name_ends + 2, 1) == "R";
}

std::chrono::nanoseconds thread_stopwatch::unpreempted_time(
    std::chrono::nanoseconds elapsed) const noexcept {
  const std::chrono::nanoseconds cpu_time = thread_cpu_time(thread_);
  // Less CPU time than before means that the kernel has reused the thread id.
  if (cpu_time == 0ns || cpu_time < cpu_time_before_ || cpu_time - cpu_time_before_ >= elapsed ||
      !is_runnable())
    return elapsed;
  return cpu_time - cpu_time_before_;
}

}  // namespace weir::embedded::engine
