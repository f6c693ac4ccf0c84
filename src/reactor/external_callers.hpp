// reactor/external_callers.hpp - calls of the driver that the program says are made, as nobody can
// see them.
#pragma once

#include "reactor/contention_detector.hpp"

#include <atomic>

namespace weir::detail {

// How many weir::expect_external_launches there are.
inline constinit std::atomic<int> external_callers{0};

[[nodiscard]] inline contention with_external_callers(contention seen) noexcept {
  return external_callers.load(std::memory_order_relaxed) > 0 ? contention::certain : seen;
}

}  // namespace weir::detail
