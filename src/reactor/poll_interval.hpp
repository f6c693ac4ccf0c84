// SPDX-License-Identifier: Apache-2.0
// reactor/poll_interval.hpp - the delay between two polls of the reactor thread.
#pragma once

#include "reactor/contention_detector.hpp"
#include "reactor/poll_policy.hpp"

#include <algorithm>
#include <utility>

namespace weir::detail {

// The delay between two polls of a driver that other threads call, too.
//
// Each poll takes the driver's locks and cache lines from a thread that launches, which loses about
// 0.3 us. Without such threads polling is free, and completion is seen at once. Calls through weir
// are detected (contention_detector). Calls made directly to the driver are not: an attempt to
// detect them also reported callers that did not exist (docs/performance/history.md).
//
// All times are in nanoseconds. Thread safety: none; each reactor thread has its own.
class poll_interval {
 public:
  // Returns true if other threads certainly call the driver all the time.
  [[nodiscard]] bool is_contended() const noexcept { return contention_ == contention::certain; }

  // Sets the level. Returns true if it changed.
  bool set_contention(contention level) noexcept {
    return std::exchange(contention_, level) != level;
  }

  // Returns the delay before the next poll. `elapsed`: time since the first poll. `polls`: the
  // number of events polled in one pass over the queues.
  //
  // - No contention: elapsed / 64. The maximum is 0.5 us for each event, at least 1 us and at most
  //   250 us.
  // - Contention is suspected: 5 us for each event, and 15 us for three or more.
  // - Contention is certain: elapsed / 2. The minimum is 24 us for one event and 64 us for several.
  //   The maximum is 48 us for one event; for several, 24 us for each, from 64 us to 250 us.
  [[nodiscard]] long long delay(long long elapsed, long long polls) const noexcept {
    if (is_contended()) {
      const long long min_delay_now = min_delay(polls);
      const long long max_delay_now =
          std::clamp(polls * poll_policy::contended_delay, 2 * poll_policy::contended_delay,
                     poll_policy::max_delay);
      return std::clamp(elapsed / poll_policy::elapsed_per_contended_delay, min_delay_now,
                        std::max(min_delay_now, max_delay_now));
    }
    if (contention_ == contention::suspected)
      return std::clamp(polls, 1LL, 3LL) * poll_policy::suspected_delay;
    return std::clamp(elapsed / poll_policy::elapsed_per_delay, 0LL,
                      std::clamp(polls * poll_policy::microsecond / 2, poll_policy::microsecond,
                                 poll_policy::max_delay));
  }

  // Returns the part of the delay that a new waiter does not cut short.
  [[nodiscard]] long long min_delay(long long polls) const noexcept {
    if (!is_contended()) return 0;
    return polls <= 1 ? poll_policy::contended_delay : poll_policy::contended_delay_of_several;
  }

 private:
  contention contention_ = contention::none;
};

}  // namespace weir::detail
