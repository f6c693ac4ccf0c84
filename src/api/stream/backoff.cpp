// SPDX-License-Identifier: Apache-2.0
// api/stream/backoff.cpp - polling with a timeout.
#include "api/stream/backoff.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace weir::detail {
namespace {

constexpr long long microsecond = 1'000;
constexpr long long spin_time = 50 * microsecond;
constexpr long long max_sleep = 1'000 * microsecond;

}  // namespace

long long steady_now() noexcept {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

void backoff_pause(long long waited, long long left) noexcept {
  if (waited < spin_time) {
    std::this_thread::yield();
    return;
  }
  // Sleeps an eighth of the time waited so far, so completion is seen at most 12.5 % late.
  const long long sleep = std::min({std::clamp(waited / 8, 10 * microsecond, max_sleep), left});
  std::this_thread::sleep_for(std::chrono::nanoseconds{sleep});
}

}  // namespace weir::detail
