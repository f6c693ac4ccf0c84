// os/clock.hpp - the clock of all waits.
#pragma once

#include <chrono>

namespace weir::detail {

// Nanoseconds that only go forward.
[[nodiscard]] inline long long steady_nanoseconds() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

// The deadline that lies so far ahead.
[[nodiscard]] inline long long deadline_after(long long nanoseconds) noexcept {
  constexpr long long max_deadline = 0x7fff'ffff'ffff'ffff;
  const long long now = steady_nanoseconds();
  return nanoseconds >= max_deadline - now ? max_deadline : now + nanoseconds;
}

}  // namespace weir::detail
