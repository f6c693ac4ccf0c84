// api/stream/backoff.hpp - waiting for something that can only be asked for, with an end.
#pragma once

#include <weir/core/errc.hpp>

namespace weir::detail {

// Calls poll() until it answers something else than not_ready or the time, in nanoseconds, is over,
// and gives the last answer. Asks at once and again and again for a few microseconds, as work on a
// device is short; then sleeps in between, at most a millisecond, so that a long wait costs next to
// nothing.
template <class Poll>
[[nodiscard]] errc poll_until(long long timeout, const Poll& poll);

// The clock of all waits: nanoseconds that only go forward.
[[nodiscard]] long long steady_now() noexcept;
// What to do after the first `waited` nanoseconds, with `left` to go: spin or sleep.
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
