// reactor/announced_calls.hpp - calls of the driver that the program says are made, as nobody can see them.
#pragma once

#include "reactor/call_watch.hpp"

#include <atomic>

namespace weir::detail {

// How many weir::calls_past_weir there are.
inline constinit std::atomic<int> announced_calls{0};

[[nodiscard]] inline callers_seen or_announced(callers_seen seen) noexcept {
  return announced_calls.load(std::memory_order_relaxed) > 0 ? callers_seen::surely : seen;
}

}  // namespace weir::detail
