// SPDX-License-Identifier: Apache-2.0
// os/thread_exists.hpp - whether a thread of this process has ended.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace weir::os {

// Returns false if no thread of this process has the id, as gettid() returns it. The system may
// give the id of an ended thread to a new one.
[[nodiscard]] inline bool thread_exists(int system_thread_id) noexcept {
  const int saved_errno = errno;
  const bool exists = ::syscall(SYS_tgkill, ::getpid(), system_thread_id, 0) == 0 || errno != ESRCH;
  errno = saved_errno;
  return exists;
}

}  // namespace weir::os
