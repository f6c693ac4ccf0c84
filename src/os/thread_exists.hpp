// SPDX-License-Identifier: Apache-2.0
// os/thread_exists.hpp - whether a thread of this process has ended.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weir::os {

// Returns false if no thread of this process has the id, as gettid() returns it, or if that thread
// is ending: it may exist for a moment after another thread has joined it. The system may give the
// id of an ended thread to a new one.
[[nodiscard]] inline bool thread_exists(int system_thread_id) noexcept {
  const int saved_errno = errno;
  std::array<char, 64> path{};
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/stat", system_thread_id);
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  const bool is_missing = file < 0 && errno == ENOENT;
  std::array<char, 512> text{};
  const ssize_t size = file >= 0 ? ::read(file, text.data(), text.size() - 1) : 0;
  if (file >= 0) ::close(file);
  errno = saved_errno;
  if (is_missing || size < 0) return false;
  // After the name in parentheses: state, five numbers, and the flags of the kernel's task.
  const char* field = std::strrchr(text.data(), ')');
  for (int skipped = 0; field != nullptr && skipped < 7; ++skipped)
    field = std::strchr(field + 1, ' ');
  constexpr unsigned long is_exiting = 0x4;  // PF_EXITING
  return field == nullptr || (std::strtoul(field, nullptr, 10) & is_exiting) == 0;
}

}  // namespace weir::os
