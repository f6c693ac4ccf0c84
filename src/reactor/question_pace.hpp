// reactor/question_pace.hpp - how often to ask a driver that other threads call, too.
#pragma once

#include <algorithm>
#include <atomic>

namespace weir::detail {

// Each question takes the driver's locks and lists away from the processor of a thread that launches, which loses some 0.3 us by
// that; asked once in 8 us it hardly notices. Where no other thread calls the driver a question costs nobody anything, and the end
// is noticed at once.
//
// Which it is shows in a trial, of a question after a rest and some more without one. Beside a thread that launches the first
// takes half as long again as the quickest of the others, as it has to fetch the lock from there. How long they take altogether
// says nothing: that doubles where the other half of the processor's core is busy.
//
// All times are nanoseconds. Thread safety: judge() for one thread at a time, the rest for any.
class question_pace {
 public:
  static constexpr int questions_of_trial = 7;

  // Do other threads call the driver all the time?
  [[nodiscard]] bool others_call() const noexcept { return others_call_.load(std::memory_order_relaxed); }

  // For so long not to ask, at this time after the first question, where so many are asked in a row: work that takes so long is
  // noticed 1.5 % late at most, and half as late again beside others.
  [[nodiscard]] long long rest(long long elapsed, long long now, long long questions) const noexcept {
    if (others_call()) {
      const long long longest = std::clamp(questions * beside_others, 2 * beside_others, longest_rest);
      return std::clamp(elapsed / 2, beside_others, longest);
    }
    if (now >= next_trial_.load(std::memory_order_relaxed)) return rest_before_trial;
    return std::clamp(elapsed / 64, 0LL, std::clamp(questions * microsecond / 2, microsecond, longest_rest));
  }

  // So long it is to rest also if somebody has just begun to wait.
  [[nodiscard]] long long shortest_rest() const noexcept { return others_call() ? beside_others : 0; }

  // After so long a rest, which ended now.
  void rested(long long time, long long now, long long questions) noexcept {
    if (time < rest_before_trial || now < next_trial_.load(std::memory_order_relaxed)) return;
    const long long pause = others_call() ? between_trials_beside_others : between_trials + questions * microsecond / 2;
    next_trial_.store(now + pause, std::memory_order_relaxed);
    trial_begins_.store(true, std::memory_order_relaxed);
  }

  // True once after such a rest: the questions that follow are a trial.
  [[nodiscard]] bool begins_trial() noexcept {
    return trial_begins_.load(std::memory_order_relaxed) && trial_begins_.exchange(false, std::memory_order_relaxed);
  }

  // The first took so long, and the quickest of the others.
  void judge(long long first, long long quickest) noexcept {
    const int vote = first > quickest + quickest / 4 ? 1 : others_call() ? -4 : -2;
    votes_ = std::clamp(votes_ + vote, 0, most_votes);
    // Apart, so that it does not change to and fro.
    if (votes_ == 0) others_call_.store(false, std::memory_order_relaxed);
    if (votes_ == most_votes) others_call_.store(true, std::memory_order_relaxed);
  }

 private:
  static constexpr long long microsecond = 1'000;
  static constexpr long long beside_others = 8 * microsecond;
  static constexpr long long longest_rest = 250 * microsecond;
  static constexpr long long rest_before_trial = microsecond;
  static constexpr long long between_trials = 4 * microsecond;
  static constexpr long long between_trials_beside_others = 100 * microsecond;  // they would notice more of them
  static constexpr int most_votes = 8;

  std::atomic<long long> next_trial_{0};
  std::atomic<bool> trial_begins_{false};
  std::atomic<bool> others_call_{false};
  int votes_ = 0;
};

}  // namespace weir::detail
