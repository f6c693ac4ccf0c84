// SPDX-License-Identifier: Apache-2.0
// reactor/thread_reactors.cpp - the reactors that the calling thread drives as a poller.
#include "reactor/thread_reactors.hpp"

#include "reactor/reactor.hpp"

#include <bit>

namespace weir::detail {
namespace {

constexpr int max_tracked_devices = 64;

constinit thread_local thread_reactors reactors_of_this_thread;

}  // namespace

thread_reactors& this_thread_reactors() noexcept { return reactors_of_this_thread; }

void thread_reactors::add(int device) noexcept {
  if (const std::uint32_t current_period = all_pollers.period(); period_ != current_period) {
    devices_ = 0;
    period_ = current_period;
  }
  if (device < max_tracked_devices) devices_ |= std::uint64_t{1} << static_cast<unsigned>(device);
}

std::uint64_t thread_reactors::devices() noexcept {
  if (devices_ == 0) return 0;
  if (!all_pollers.is_current(period_)) devices_ = 0;
  for (std::uint64_t left = devices_; left != 0; left &= left - 1) {
    if (!reactor::existing_for_device(std::countr_zero(left)).has_pollers())
      devices_ ^= left & -left;
  }
  return devices_;
}

}  // namespace weir::detail
