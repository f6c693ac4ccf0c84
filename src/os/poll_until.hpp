// SPDX-License-Identifier: Apache-2.0
// os/poll_until.hpp - polling with pauses that grow, until an answer or a timeout.
#pragma once

#include "os/clock.hpp"

#include <algorithm>
#include <chrono>
#include <concepts>
#include <thread>

namespace weir::os {

// Yields or sleeps between two polls. `waited`: nanoseconds since the first poll. `left`:
// nanoseconds until the timeout.
//
// It yields for the first 50 us, since device work is often short. Then it sleeps for an eighth of
// the time waited so far, so an answer is seen about 12.5 % late at most. It sleeps for at least 10
// us, and for 500 us at most: polling has to find a fault of the device within a millisecond.
inline void backoff_pause(long long waited, long long left) noexcept {
  constexpr long long microsecond = 1'000;
  constexpr long long yield_time = 50 * microsecond;
  constexpr long long max_sleep = 500 * microsecond;
  if (waited < yield_time) {
    std::this_thread::yield();
    return;
  }
  const long long sleep_time =
      std::min({std::clamp(waited / 8, 10 * microsecond, max_sleep), left});
  std::this_thread::sleep_for(std::chrono::nanoseconds{sleep_time});
}

// Calls poll() until it returns something other than `pending`, or until `timeout` nanoseconds have
// passed. Returns the last answer. Polls at least once.
template <std::equality_comparable Answer, std::invocable Poll>
[[nodiscard]] Answer poll_until(long long timeout, Answer pending, const Poll& poll) {
  Answer answer = poll();
  if (answer != pending) return answer;
  for (const long long begin = steady_nanoseconds();;) {
    const long long waited = steady_nanoseconds() - begin;
    if (waited >= timeout) return answer;
    backoff_pause(waited, timeout - waited);
    answer = poll();
    if (answer != pending) return answer;
  }
}

}  // namespace weir::os
