// reactor/question_pace.hpp - how often to ask a driver that other threads call, too.
#pragma once

#include "reactor/call_watch.hpp"

#include <algorithm>
#include <utility>

namespace weir::detail {

// Each question takes the driver's locks and lists away from the processor of a thread that launches, which loses some 0.3 us by
// that, some 1 % if asked once in 24 us. Where no other thread calls the driver a question costs nobody anything, and the end
// is noticed at once. Who calls through weir is seen (call_watch.hpp); those who call past it are not looked for, as what finds
// them finds others where there are none (docs/performance/performance.md).
//
// All times are nanoseconds. For one thread.
class question_pace {
 public:
  // Do other threads call the driver all the time?
  [[nodiscard]] bool others_call() const noexcept { return seen_ == callers_seen::surely; }

  // True if that is other than it was.
  bool see(callers_seen others) noexcept { return std::exchange(seen_, others) != others; }

  // For so long not to ask, at this time after the first question, where so many are asked in a row: work that takes so long is
  // noticed 1.5 % late at most, or a microsecond; beside others half as late again, or 24 us, and 64 us where several are asked;
  // 5 us for each of up to three where that is a suspicion.
  [[nodiscard]] long long rest(long long elapsed, long long questions) const noexcept {
    if (others_call()) {
      const long long shortest = shortest_rest(questions);
      const long long longest = std::clamp(questions * beside_others, 2 * beside_others, longest_rest);
      return std::clamp(elapsed / 2, shortest, std::max(shortest, longest));
    }
    if (seen_ == callers_seen::perhaps) return std::clamp(questions, 1LL, 3LL) * beside_some;
    return std::clamp(elapsed / 64, 0LL, std::clamp(questions * microsecond / 2, microsecond, longest_rest));
  }

  // Of a rest, so long it is also if somebody has just begun to wait.
  [[nodiscard]] long long shortest_rest(long long questions) const noexcept {
    if (!others_call()) return 0;
    return questions <= 1 ? beside_others : beside_others_of_several;
  }

 private:
  static constexpr long long microsecond = 1'000;
  static constexpr long long beside_others = 24 * microsecond;
  static constexpr long long beside_others_of_several = 64 * microsecond;  // each end costs them, too
  static constexpr long long beside_some = 5 * microsecond;
  static constexpr long long longest_rest = 250 * microsecond;

  callers_seen seen_ = callers_seen::none;
};

}  // namespace weir::detail
