// SPDX-License-Identifier: Apache-2.0
// driver/active_captures.hpp - the number of open captures.
#pragma once

#include <atomic>

namespace weir::detail {

// Counts the open captures that were begun through weir. While there are any, weir defers or guards
// driver calls that could invalidate one.
inline constinit std::atomic<int> active_capture_count{0};

}  // namespace weir::detail
