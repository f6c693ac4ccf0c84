// reactor/sleep_predictor.hpp - how long to sleep between looks at work that takes long.
#pragma once

#include <algorithm>

namespace weir::detail {

// A quarter of what has passed already, so that the end is noticed at most that much late. Where
// waits have been alike lately the next one is expected to take as long: few looks until shortly
// before, and close ones around it; one that ends long before is noticed as late again as it took,
// or by a hundredth of what was expected. Each look costs 10 to 20 us of a processor. All times are
// nanoseconds. For one thread.
class sleep_predictor {
 public:
  // Whoever looks for faults himself has to find one within a millisecond, and to tell all who
  // wait, 0.3 us each.
  static constexpr long long max_without_fault_reports = 600'000;

  // So long after the wait began, where somebody else tells of faults, or nobody.
  [[nodiscard]] long long next_sleep(long long elapsed, bool faults_are_reported) const noexcept {
    long long length = std::min(elapsed / 4, max_sleep);
    if (elapsed < expected_ - tolerance()) {
      length = std::min({expected_ - tolerance() - elapsed, std::max(elapsed, expected_ / 128),
                         expected_ / 6, max_sleep_before_end});
    } else if (elapsed < expected_ + tolerance()) {
      length = std::min(expected_ / 64, max_sleep_near_end);
    }
    return std::max(faults_are_reported ? length : std::min(length, max_without_fault_reports),
                    min_sleep);
  }

  // A wait has taken so long.
  void record_wait(long long waited) noexcept {
    const long long tolerance_between = std::max(waited, last_wait_) / 8;
    similar_waits_ =
        waited > last_wait_ - tolerance_between && waited < last_wait_ + tolerance_between
            ? std::min(similar_waits_ + 1, min_similar_waits)
            : 0;
    last_wait_ = waited;
    expected_ = similar_waits_ == min_similar_waits ? waited : 0;
  }

 private:
  static constexpr long long min_sleep = 20'000;
  static constexpr long long max_sleep = 3'000'000;
  static constexpr long long max_sleep_near_end = 800'000;
  static constexpr long long max_sleep_before_end = 10'000'000;
  static constexpr int min_similar_waits = 3;

  [[nodiscard]] long long tolerance() const noexcept { return expected_ / 16; }

  long long last_wait_ = 0;
  int similar_waits_ = 0;
  long long expected_ = 0;  // 0: nobody knows
};

}  // namespace weir::detail
