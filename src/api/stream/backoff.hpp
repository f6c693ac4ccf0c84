// SPDX-License-Identifier: Apache-2.0
// api/stream/backoff.hpp - polling with a timeout.
#pragma once

#include <weir/core/errc.hpp>

namespace weir::detail {

// Calls poll() until it returns something other than not_ready, or until `timeout` nanoseconds have
// passed. Returns the last result. Polls without sleeping for the first 50 us, since device work is
// often short. Then sleeps between polls, at most 1 ms, so that a long wait costs almost no CPU
// time.
template <class Poll>
[[nodiscard]] errc poll_until(long long timeout, const Poll& poll);

// Returns the monotonic clock in nanoseconds, which all waits use.
[[nodiscard]] long long steady_now() noexcept;
// Yields or sleeps between two polls. `waited`: nanoseconds since the first poll. `left`:
// nanoseconds until the timeout.
void backoff_pause(long long waited, long long left) noexcept;

template <class Poll>
errc poll_until(long long timeout, const Poll& poll) {
  errc answer = poll();
  if (answer != errc::not_ready) return answer;
  for (const long long begin = steady_now();;) {
    const long long waited = steady_now() - begin;
    if (waited >= timeout) return answer;
    backoff_pause(waited, timeout - waited);
    answer = poll();
    if (answer != errc::not_ready) return answer;
  }
}

}  // namespace weir::detail
