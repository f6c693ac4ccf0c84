// api/core/duplicated_descriptor.hpp - a file descriptor on offer to a driver, which may take it or
// not.
#pragma once

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weir::detail {

// The driver gets a duplicate: what it takes it keeps, and what it refuses it may have closed all
// the same, while the original has to stay as it was. So one rule holds for whatever is imported:
// on success the driver has a descriptor of its own, on failure nothing is left behind, and the
// original is untouched in either case.
class duplicated_descriptor {
 public:
  explicit duplicated_descriptor(int original) noexcept
      : original_{original}, duplicate_{fcntl(original, F_DUPFD_CLOEXEC, 0)} {}
  duplicated_descriptor(const duplicated_descriptor&) = delete;
  duplicated_descriptor& operator=(const duplicated_descriptor&) = delete;
  ~duplicated_descriptor() {
    if (duplicate_ >= 0 && is_same_file()) ::close(duplicate_);
  }

  // Where there is nothing to duplicate the driver shall say so.
  [[nodiscard]] int get() const noexcept { return duplicate_ >= 0 ? duplicate_ : original_; }

  // The driver has taken it. Was it a duplicate, so that the original is as open as before?
  bool release_to_driver() noexcept {
    const bool was_duplicate = duplicate_ >= 0;
    duplicate_ = -1;
    return was_duplicate;
  }

 private:
  // A driver that closed it may have opened something else under its number. Where the system does
  // not tell, the duplicate stays open: better than to close what belongs to another.
  [[nodiscard]] bool is_same_file() const noexcept {
    const pid_t self = getpid();
    return syscall(SYS_kcmp, self, self, KCMP_FILE, duplicate_, original_) == 0;
  }

  int original_;
  int duplicate_;
};

}  // namespace weir::detail
