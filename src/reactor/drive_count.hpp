// reactor/drive_count.hpp - how many of the program's loops stand in for the reactors' threads.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::detail {

// From the first of them until none is left is a period; each has a number, so that who has begun in one does not count in
// the next.
//
// Thread safety: all members, from any thread.
class drive_count {
 public:
  void begin() noexcept {
    std::uint64_t seen = value_.load();
    while (!value_.compare_exchange_weak(seen, seen + (count_of(seen) == 0 ? one_period + 1 : 1))) {
    }
  }
  void end() noexcept { value_.fetch_sub(1); }

  [[nodiscard]] std::uint32_t period() const noexcept { return period_of(value_.load()); }
  [[nodiscard]] bool lasts(std::uint32_t period) const noexcept {
    const std::uint64_t seen = value_.load();
    return count_of(seen) != 0 && period_of(seen) == period;
  }

 private:
  static constexpr std::uint64_t one_period = std::uint64_t{1} << 32U;
  static constexpr std::uint32_t count_of(std::uint64_t value) noexcept { return static_cast<std::uint32_t>(value); }
  static constexpr std::uint32_t period_of(std::uint64_t value) noexcept {
    return static_cast<std::uint32_t>(value >> 32U);
  }

  std::atomic<std::uint64_t> value_{0};
};

// Of all devices.
inline constinit drive_count all_drives;

}  // namespace weir::detail
