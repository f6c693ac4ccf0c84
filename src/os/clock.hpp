// SPDX-License-Identifier: Apache-2.0
// os/clock.hpp - the steady clock that all waits use.
#pragma once

#include <chrono>

namespace weir::os {

// Returns the time of the steady clock in nanoseconds.
[[nodiscard]] inline long long steady_nanoseconds() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

// Returns the deadline that is `nanoseconds` from now, without overflow.
[[nodiscard]] inline long long deadline_after(long long nanoseconds) noexcept {
  constexpr long long max_deadline = 0x7fff'ffff'ffff'ffff;
  const long long now = steady_nanoseconds();
  return nanoseconds >= max_deadline - now ? max_deadline : now + nanoseconds;
}

}  // namespace weir::os
