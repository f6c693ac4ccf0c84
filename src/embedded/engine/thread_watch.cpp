// engine/thread_watch.cpp - what the kernel says of a thread.
#include "embedded/engine/thread_watch.hpp"

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

struct line {
  std::array<char, 96> bytes;
  std::size_t size = 0;

  [[nodiscard]] std::string_view text() const noexcept { return {bytes.data(), size}; }
};

// Without memory and without streams. Nothing where there is no such thread, or no descriptor to be had.
line read_of(pid_t thread, const char* file) noexcept {
  line read;
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/%s", thread, file);
  const int descriptor = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return read;
  const ssize_t size = ::read(descriptor, read.bytes.data(), read.bytes.size());
  ::close(descriptor);
  if (size > 0) read.size = static_cast<std::size_t>(size);
  return read;
}

// Does it run, or would if it had a processor?
bool is_ready(pid_t thread) noexcept {
  const line stat = read_of(thread, "stat");  // number, (name), state, and so on; the name may hold parentheses
  const std::size_t name_ends = stat.text().rfind(") ");
  return name_ends != std::string_view::npos && stat.text().substr(name_ends + 2, 1) == "R";
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
  const auto clock = static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3U) | of_thread_by_scheduler;
  if (::clock_gettime(clock, &run) != 0) return {};
  return std::chrono::seconds{run.tv_sec} + std::chrono::nanoseconds{run.tv_nsec};
}

long turns_of(pid_t thread) noexcept {
  const line schedstat = read_of(thread, "schedstat");  // nanoseconds run, nanoseconds kept, turns
  const std::string_view text = schedstat.text();
  const std::size_t last_space = text.rfind(' ');
  if (last_space == std::string_view::npos) return 0;
  long turns = 0;
  std::from_chars(text.data() + last_space + 1, text.data() + text.size(), turns);
  return turns;
}

std::chrono::nanoseconds thread_watch::time_had(std::chrono::nanoseconds passed) const noexcept {
  const std::chrono::nanoseconds run = time_run(thread_);
  // It has run less than before if the number is another thread's by now.
  if (run == 0ns || run < run_before_ || run - run_before_ >= passed || !is_ready(thread_)) return passed;
  return run - run_before_;
}

}  // namespace weir::embedded::engine
