// reactor/poller_count.hpp - how many of the program's loops stand in for the reactors' threads.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::detail {

// From the first of them until none is left is a period; each has a number, so that who has begun
// in one does not count in the next.
//
// Thread safety: all members, from any thread.
class poller_count {
 public:
  void add() noexcept {
    std::uint64_t current = value_.load();
    while (!value_.compare_exchange_weak(
        current, current + (count_of(current) == 0 ? period_unit + 1 : 1))) {
    }
  }
  void remove() noexcept { value_.fetch_sub(1); }

  [[nodiscard]] std::uint32_t period() const noexcept { return period_of(value_.load()); }
  [[nodiscard]] bool is_current(std::uint32_t period) const noexcept {
    const std::uint64_t current = value_.load();
    return count_of(current) != 0 && period_of(current) == period;
  }

 private:
  static constexpr std::uint64_t period_unit = std::uint64_t{1} << 32U;
  static constexpr std::uint32_t count_of(std::uint64_t value) noexcept {
    return static_cast<std::uint32_t>(value);
  }
  static constexpr std::uint32_t period_of(std::uint64_t value) noexcept {
    return static_cast<std::uint32_t>(value >> 32U);
  }

  std::atomic<std::uint64_t> value_{0};
};

// Of all devices.
inline constinit poller_count all_pollers;

}  // namespace weir::detail
