// reactor/poll_interval.hpp - how often to ask a driver that other threads call, too.
#pragma once

#include "reactor/contention_detector.hpp"

#include <algorithm>
#include <utility>

namespace weir::detail {

// Each question takes the driver's locks and lists away from the processor of a thread that
// launches, which loses some 0.3 us by that, some 1 % if asked once in 24 us. Where no other thread
// calls the driver a question costs nobody anything, and the end is noticed at once. Who calls
// through weir is seen (contention_detector.hpp); those who call past it are not looked for, as
// what finds them finds others where there are none (docs/performance/performance.md).
//
// All times are nanoseconds. For one thread.
class poll_interval {
 public:
  // Do other threads call the driver all the time?
  [[nodiscard]] bool is_contended() const noexcept { return contention_ == contention::certain; }

  // True if that is other than it was.
  bool set_contention(contention level) noexcept {
    return std::exchange(contention_, level) != level;
  }

  // For so long not to ask, at this time after the first question, where so many are asked in a
  // row: work that takes so long is noticed 1.5 % late at most, or a microsecond; beside others
  // half as late again, or 24 us, and 64 us where several are asked; 5 us for each of up to three
  // where that is a suspicion.
  [[nodiscard]] long long delay(long long elapsed, long long polls) const noexcept {
    if (is_contended()) {
      const long long min_delay_now = min_delay(polls);
      const long long max_delay_now =
          std::clamp(polls * contended_delay, 2 * contended_delay, max_delay);
      return std::clamp(elapsed / 2, min_delay_now, std::max(min_delay_now, max_delay_now));
    }
    if (contention_ == contention::suspected) return std::clamp(polls, 1LL, 3LL) * suspected_delay;
    return std::clamp(elapsed / 64, 0LL,
                      std::clamp(polls * microsecond / 2, microsecond, max_delay));
  }

  // Of a rest, so long it is also if somebody has just begun to wait.
  [[nodiscard]] long long min_delay(long long polls) const noexcept {
    if (!is_contended()) return 0;
    return polls <= 1 ? contended_delay : contended_delay_of_several;
  }

 private:
  static constexpr long long microsecond = 1'000;
  static constexpr long long contended_delay = 24 * microsecond;
  static constexpr long long contended_delay_of_several =
      64 * microsecond;  // each end costs them, too
  static constexpr long long suspected_delay = 5 * microsecond;
  static constexpr long long max_delay = 250 * microsecond;

  contention contention_ = contention::none;
};

}  // namespace weir::detail
