// SPDX-License-Identifier: Apache-2.0
// driver/active_captures.hpp - the number of open captures, and how unsafe calls are made because
// of captures.
#pragma once

#include <atomic>

namespace weir::detail {

// Counts the open captures that were begun through weir. While there are any, weir defers or guards
// driver calls that could invalidate one.
inline constinit std::atomic<int> active_capture_count{0};

// Not 0 while calls that the driver considers unsafe have to be made in relaxed capture mode.
// Counts the open captures that were begun through weir, and one more from the first capture in
// global mode on. In other modes such a call of any thread would break a capture in global mode
// that begins before the driver has checked the call, and GPUs' drivers crash over it.
inline constinit std::atomic<int> relaxed_mode_reasons{0};

// Called before a capture in global mode begins.
inline void note_global_capture() noexcept {
  static constinit std::atomic<bool> noted{false};
  if (!noted.exchange(true, std::memory_order_relaxed))
    relaxed_mode_reasons.fetch_add(1, std::memory_order_relaxed);
}

// Changes when such a capture begins or ends.
inline constinit std::atomic<unsigned long long> capture_change_count{0};

}  // namespace weir::detail
