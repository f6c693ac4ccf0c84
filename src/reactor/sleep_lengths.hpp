// reactor/sleep_lengths.hpp - how long to sleep between looks at work that takes long.
#pragma once

#include <algorithm>

namespace weir::detail {

// A quarter of what has passed already, so that the end is noticed at most that much late. Where waits have been alike lately
// the next one is expected to take as long: few looks until shortly before, and close ones around it; one that ends long before
// is noticed as late again as it took, or by a hundredth of what was expected. Each look costs 10 to 20 us of a processor. All
// times are nanoseconds. For one thread.
class sleep_lengths {
 public:
  // Whoever looks for faults himself has to find one within a millisecond, and to tell all who wait, 0.3 us each.
  static constexpr long long longest_blind = 600'000;

  // So long after the wait began, where somebody else tells of faults, or nobody.
  [[nodiscard]] long long next(long long elapsed, bool faults_are_told) const noexcept {
    long long wanted = std::min(elapsed / 4, longest);
    if (elapsed < expected_ - around()) {
      wanted = std::min(
          {expected_ - around() - elapsed, std::max(elapsed, expected_ / 128), expected_ / 6, longest_expected});
    } else if (elapsed < expected_ + around()) {
      wanted = std::min(expected_ / 64, longest_around);
    }
    return std::max(faults_are_told ? wanted : std::min(wanted, longest_blind), shortest);
  }

  // A wait has taken so long.
  void learn(long long waited) noexcept {
    const long long between = std::max(waited, last_) / 8;
    alike_ = waited > last_ - between && waited < last_ + between ? std::min(alike_ + 1, enough) : 0;
    last_ = waited;
    expected_ = alike_ == enough ? waited : 0;
  }

 private:
  static constexpr long long shortest = 20'000;
  static constexpr long long longest = 3'000'000;
  static constexpr long long longest_around = 800'000;
  static constexpr long long longest_expected = 10'000'000;
  static constexpr int enough = 3;

  [[nodiscard]] long long around() const noexcept { return expected_ / 16; }

  long long last_ = 0;
  int alike_ = 0;
  long long expected_ = 0;  // 0: nobody knows
};

}  // namespace weir::detail
