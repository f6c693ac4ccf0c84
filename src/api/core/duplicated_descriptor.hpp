// SPDX-License-Identifier: Apache-2.0
// api/core/duplicated_descriptor.hpp - a duplicate of a file descriptor, for imports that may or
// may not take ownership.
#pragma once

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weir::detail {

// The driver gets a duplicate. It keeps a descriptor that it accepts, and it may have closed one
// that it refuses, but the original must stay open. Hence one rule for all imports: on success the
// driver owns the duplicate, on failure nothing leaks, and the original is unchanged in both cases.
class duplicated_descriptor {
 public:
  explicit duplicated_descriptor(int original) noexcept
      : original_{original}, duplicate_{fcntl(original, F_DUPFD_CLOEXEC, 0)} {}
  duplicated_descriptor(const duplicated_descriptor&) = delete;
  duplicated_descriptor& operator=(const duplicated_descriptor&) = delete;
  ~duplicated_descriptor() {
    if (duplicate_ >= 0 && is_same_file()) ::close(duplicate_);
  }

  // Returns the duplicate. If there is none, returns the original, so that the driver reports the
  // error.
  [[nodiscard]] int get() const noexcept { return duplicate_ >= 0 ? duplicate_ : original_; }

  // Leaves the duplicate to the driver, which has accepted it. Returns true if it was a duplicate,
  // so the original is still owned by the caller.
  bool release_to_driver() noexcept {
    const bool was_duplicate = duplicate_ >= 0;
    duplicate_ = -1;
    return was_duplicate;
  }

 private:
  // Returns true if the number still refers to the original's file. A driver that closed the
  // duplicate may have opened another file under its number. Without kcmp the duplicate stays open,
  // which is safer than closing a file of other code.
  [[nodiscard]] bool is_same_file() const noexcept {
    const pid_t self = getpid();
    return syscall(SYS_kcmp, self, self, KCMP_FILE, duplicate_, original_) == 0;
  }

  int original_;
  int duplicate_;
};

}  // namespace weir::detail
