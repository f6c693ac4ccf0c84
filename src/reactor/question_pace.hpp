// reactor/question_pace.hpp - how often to ask a driver that other threads call, too.
#pragma once

#include "reactor/call_watch.hpp"

#include <algorithm>
#include <utility>

namespace weir::detail {

// Each question takes the driver's locks and lists away from the processor of a thread that launches, which loses some 0.3 us by
// that, some 1 % if asked once in 24 us. Where no other thread calls the driver a question costs nobody anything, and the end
// is noticed at once.
//
// Who calls through weir is seen (call_watch.hpp). Whether others do shows in a trial, of a question after a short rest and some
// more without one. Beside a thread that launches the first may take half as long again as the middle one of the others, as it has to
// fetch the lock from there. How long they take altogether says nothing: that doubles where the other half of the processor's
// core is busy. Nor does the first after a long rest, or the first of all about an event.
//
// All times are nanoseconds. For one thread.
class question_pace {
 public:
  static constexpr int questions_of_trial = 7;

  // Do other threads call the driver all the time?
  [[nodiscard]] bool others_call() const noexcept { return seen_ == callers_seen::surely || found_to_call_; }

  // Where they are seen to, there are no trials. True if that is other than it was.
  bool see(callers_seen others) noexcept { return std::exchange(seen_, others) != others; }

  // For so long not to ask, at this time after the first question, where so many are asked in a row: work that takes so long is
  // noticed 1.5 % late at most, or a microsecond; beside others half as late again, or 24 us, and 64 us where several are asked;
  // 5 us for each of up to three where that is a suspicion.
  [[nodiscard]] long long rest(long long elapsed, long long now, long long questions) const noexcept {
    if (others_call()) {
      if (now >= next_trial_ && seen_ == callers_seen::none) return rest_before_trial;
      const long long shortest = shortest_rest(questions);
      const long long longest = std::clamp(questions * beside_others, 2 * beside_others, longest_rest);
      return std::clamp(elapsed / 2, shortest, std::max(shortest, longest));
    }
    if (seen_ == callers_seen::perhaps) return std::clamp(questions, 1LL, 3LL) * beside_some;
    if (now >= next_trial_) return rest_before_trial;
    return std::clamp(elapsed / 64, 0LL, std::clamp(questions * microsecond / 2, microsecond, longest_rest));
  }

  // Of a rest, so long it is also if somebody has just begun to wait.
  [[nodiscard]] long long shortest_rest(long long questions) const noexcept {
    if (!others_call()) return 0;
    return questions <= 1 ? beside_others : beside_others_of_several;
  }

  // After so long a rest, which ended now: are the next questions a trial? Not if it was meant to be longer.
  [[nodiscard]] bool begins_trial(long long rested, long long now, long long questions) noexcept {
    if (seen_ != callers_seen::none || rested < rest_before_trial || now - rested < next_trial_) return false;
    if (now - next_trial_ > longest_memory) forget();
    next_trial_ = now + (found_to_call_ ? between_trials_beside_others : between_trials + questions * microsecond / 2);
    return true;
  }

  // The first took so long, and the middle one of the others. Now and then it takes two fifths more also alone, for some time; taken
  // for others, which costs those who wait 24 us, that came about in one run of five (docs/performance.md).
  void judge(long long first, long long others) noexcept {
    const int vote = first > others + others / 2 ? 1 : found_to_call_ ? -5 : -4;
    votes_ = std::clamp(votes_ + vote, 0, most_votes);
    // Apart, so that it does not change to and fro.
    if (votes_ == 0) found_to_call_ = false;
    if (votes_ == most_votes) found_to_call_ = true;
  }

 private:
  // What was so when somebody last waited may be so no more.
  void forget() noexcept {
    votes_ = 0;
    found_to_call_ = false;
  }

  static constexpr long long microsecond = 1'000;
  static constexpr long long beside_others = 24 * microsecond;
  static constexpr long long beside_others_of_several = 64 * microsecond;  // each end costs them, too
  static constexpr long long beside_some = 5 * microsecond;
  static constexpr long long longest_rest = 250 * microsecond;
  static constexpr long long rest_before_trial = microsecond;
  static constexpr long long between_trials = 4 * microsecond;
  static constexpr long long between_trials_beside_others = 100 * microsecond;  // they would notice more of them
  static constexpr long long longest_memory = 1'000 * microsecond;
  static constexpr int most_votes = 8;

  long long next_trial_ = 0;
  callers_seen seen_ = callers_seen::none;
  bool found_to_call_ = false;
  int votes_ = 0;
};

}  // namespace weir::detail
