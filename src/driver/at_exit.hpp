// driver/at_exit.hpp - functions for the end of the process, left with the C library while nobody forks.
#pragma once

#include <cstdlib>
#include <mutex>

namespace weir::detail {

// Held while such a function is left, and during a fork of a process that has a driver. The C library has a lock for them,
// which exit() takes, and does not mind forks: a child made while another thread had it could never end.
inline constinit std::mutex at_exit_lock;

// std::atexit(function). Any thread.
inline void call_at_exit(void (*function)()) noexcept {
  const std::lock_guard hold{at_exit_lock};
  static_cast<void>(std::atexit(function));
}

}  // namespace weir::detail
