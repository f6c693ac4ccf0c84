// SPDX-License-Identifier: Apache-2.0
// api/core/duplicated_descriptor.hpp - a duplicate of a file descriptor, for imports that may or
// may not take ownership.
#pragma once

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weir::detail {

// A duplicate that is passed to the driver instead of the original descriptor. The driver keeps a
// descriptor that it accepts, and may have closed a descriptor that it refuses.
//
// After success the driver owns the duplicate. After failure the destructor closes the duplicate
// unless the driver has. The original stays open in both cases.
class duplicated_descriptor {
 public:
  explicit duplicated_descriptor(int original) noexcept
      : original_{original}, duplicate_{fcntl(original, F_DUPFD_CLOEXEC, 0)} {}
  duplicated_descriptor(const duplicated_descriptor&) = delete;
  duplicated_descriptor& operator=(const duplicated_descriptor&) = delete;
  ~duplicated_descriptor() {
    if (duplicate_ >= 0 && is_same_file()) ::close(duplicate_);
  }

  // Returns the duplicate. If duplication has failed, returns the original: the driver call reports
  // it if it is invalid, and otherwise may take it (release_to_driver()).
  [[nodiscard]] int get() const noexcept { return duplicate_ >= 0 ? duplicate_ : original_; }

  // Called after the driver has accepted the descriptor from get(). Returns true if that was the
  // duplicate, so that the caller still owns the original. Returns false if it was the original,
  // which the driver now owns.
  bool release_to_driver() noexcept {
    const bool was_duplicate = duplicate_ >= 0;
    duplicate_ = -1;
    return was_duplicate;
  }

 private:
  // Returns true if `duplicate_` still refers to the original's file. After the driver has closed
  // the duplicate, other code may have opened a file under its number. Returns false if the system
  // call kcmp is not available, so the duplicate stays open. A leak is safer than closing another
  // file.
  [[nodiscard]] bool is_same_file() const noexcept {
    const pid_t self = getpid();
    return syscall(SYS_kcmp, self, self, KCMP_FILE, duplicate_, original_) == 0;
  }

  int original_;
  int duplicate_;
};

}  // namespace weir::detail
