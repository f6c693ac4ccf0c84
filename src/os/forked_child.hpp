// os/forked_child.hpp - is this process the child of a fork, which has no driver?
#pragma once

#include <atomic>

namespace weir::detail {

// Set in the child of a fork if the parent had a driver by then: its threads and weir's stayed
// there, and locks may be held by them for ever. The child's copies of objects name what is the
// parent's. So destructors do nothing in it, and every other operation gets the driver's answer,
// not_initialized.
inline constinit std::atomic<bool> forked_with_driver{false};

[[nodiscard]] inline bool in_forked_child() noexcept {
  return forked_with_driver.load(std::memory_order_relaxed);
}

}  // namespace weir::detail
