// SPDX-License-Identifier: Apache-2.0
// os/at_exit.hpp - registers exit handlers, without a deadlock in the child of a concurrent fork.
#pragma once

#include <cstdlib>
#include <mutex>

namespace weir::os {

// Held while a handler is registered, and during a fork of a process that has a driver. The C
// library guards its handlers with a lock that exit() takes and that fork() does not reset. A child
// that is created while another thread holds that lock could never exit.
inline constinit std::mutex at_exit_lock;

// True while this thread forks and holds at_exit_lock. register_at_exit() must not lock it again
// then: fork handlers of the program may register exit handlers.
inline thread_local constinit bool at_exit_lock_is_held = false;

// Calls std::atexit(function). Thread safety: may be called from any thread.
inline void register_at_exit(void (*function)()) noexcept {
  std::unique_lock lock{at_exit_lock, std::defer_lock};
  if (!at_exit_lock_is_held) lock.lock();
  static_cast<void>(std::atexit(function));
}

}  // namespace weir::os
