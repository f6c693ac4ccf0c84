// SPDX-License-Identifier: Apache-2.0
// os/forked_child.hpp - detects the child of a fork, in which the driver cannot be used.
#pragma once

#include <atomic>

namespace weir::os {

// Set in the child of a fork if the parent had a driver. The parent's threads do not exist in the
// child, and locks that they held stay locked. The child's copies of objects refer to objects of
// the parent. So destructors do nothing in the child, and every other operation fails with the
// driver's answer, not_initialized.
inline constinit std::atomic<bool> forked_with_driver{false};

// Returns true in the child of a fork if the parent had a driver.
[[nodiscard]] inline bool in_forked_child() noexcept {
  return forked_with_driver.load(std::memory_order_relaxed);
}

}  // namespace weir::os
