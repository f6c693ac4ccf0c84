// SPDX-License-Identifier: Apache-2.0
// reactor/thread_reactors.hpp - the reactors that the calling thread drives as a poller.
#pragma once

#include <atomic>
#include <cstdint>

namespace weir::detail {

// Counts pollers (weir::completion_poller objects). A period lasts from the first poller until none
// is left. Each period has a number, so that a thread that polled in one period does not count as a
// poller in the next.
//
// Thread safety: all members may be called from any thread.
class poller_count {
 public:
  void add() noexcept {
    std::uint64_t current = value_.load();
    while (!value_.compare_exchange_weak(
        current, current + (count_of(current) == 0 ? period_unit + 1 : 1))) {
    }
  }
  void remove() noexcept { value_.fetch_sub(1); }

  // Returns the number of the current or last period.
  [[nodiscard]] std::uint32_t period() const noexcept { return period_of(value_.load()); }
  // Returns true if the period has not ended.
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

  std::atomic<std::uint64_t> value_{0};  // upper half: the period; lower half: the pollers
};

// Counts the pollers of all devices.
inline constinit poller_count all_pollers;

// The reactors that one thread drives as a poller.
//
// A thread that adds a poller of a device or calls its poll() has to drive the device's reactor
// while it blocks, because no other thread may. This ends when any thread removes the device's last
// poller. The device's bit is cleared only by a call of devices() while the device has no poller.
// If the device gets a poller again before such a call, the thread has to drive its reactor again.
//
// There is one object for each thread. It is a bit set because a library that is loaded at run time
// has little room for thread-local data.
class thread_reactors {
 public:
  // Adds the reactor of `device`. Devices from number 64 on are ignored; no machine has as many.
  void add(int device) noexcept;
  // Returns the devices whose reactors the thread has to drive, a bit for each. Removes the
  // reactors that no longer have pollers.
  [[nodiscard]] std::uint64_t devices() noexcept;

 private:
  std::uint64_t devices_ = 0;
  std::uint32_t period_ = 0;
};

// Returns the calling thread's object.
[[nodiscard]] thread_reactors& this_thread_reactors() noexcept;

}  // namespace weir::detail
