// os/at_exit.hpp - functions for the end of the process, left with the C library while nobody
// forks.
#pragma once

#include <cstdlib>
#include <mutex>

namespace weir::detail {

// Held while such a function is left, and during a fork of a process that has a driver. The C
// library has a lock for them, which exit() takes, and does not mind forks: a child made while
// another thread had it could never end.
inline constinit std::mutex at_exit_lock;

// This thread forks, and holds it. The program's own functions around forks may leave something.
inline thread_local constinit bool at_exit_lock_is_held = false;

// std::atexit(function). Any thread.
inline void register_at_exit(void (*function)()) noexcept {
  std::unique_lock lock{at_exit_lock, std::defer_lock};
  if (!at_exit_lock_is_held) lock.lock();
  static_cast<void>(std::atexit(function));
}

}  // namespace weir::detail
