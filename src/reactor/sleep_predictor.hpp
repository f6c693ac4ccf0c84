// SPDX-License-Identifier: Apache-2.0
// reactor/sleep_predictor.hpp - how long the reactor thread sleeps between two polls of long work.
#pragma once

#include "reactor/poll_policy.hpp"

#include <algorithm>

namespace weir::detail {

// Computes the time to sleep between two polls of long work.
//
// A sleep is a quarter of the time waited so far, so completion is seen at most 25 % late. If
// recent waits were similar, the next is predicted to take as long: polls are rare until shortly
// before the predicted end, and close around it. If the work ends long before the predicted time,
// its completion is seen late. The delay is at most the time that the work took, or 1/128 of the
// predicted time if that is longer.
//
// All times are in nanoseconds. Thread safety: none; each reactor thread has its own.
class sleep_predictor {
 public:
  // Returns how long to sleep when `elapsed` has passed since the wait began. The sleep stays short
  // unless `faults_are_reported` by another thread.
  [[nodiscard]] long long next_sleep(long long elapsed, bool faults_are_reported) const noexcept {
    long long length = std::min(elapsed / 4, poll_policy::max_sleep);
    if (elapsed < expected_ - tolerance()) {
      length = std::min({expected_ - tolerance() - elapsed, std::max(elapsed, expected_ / 128),
                         expected_ / 6, poll_policy::max_sleep_before_end});
    } else if (elapsed < expected_ + tolerance()) {
      length = std::min(expected_ / 64, poll_policy::max_sleep_near_end);
    }
    return std::max(faults_are_reported
                        ? length
                        : std::min(length, poll_policy::max_sleep_without_fault_reports),
                    poll_policy::min_sleep);
  }

  // Records a wait that took `waited`. Waits are similar if they differ by less than 1/8.
  void record_wait(long long waited) noexcept {
    const long long tolerance_between = std::max(waited, last_wait_) / 8;
    similar_waits_ =
        waited > last_wait_ - tolerance_between && waited < last_wait_ + tolerance_between
            ? std::min(similar_waits_ + 1, poll_policy::min_similar_waits)
            : 0;
    last_wait_ = waited;
    expected_ = similar_waits_ == poll_policy::min_similar_waits ? waited : 0;
  }

 private:
  [[nodiscard]] long long tolerance() const noexcept { return expected_ / 16; }

  long long last_wait_ = 0;
  int similar_waits_ = 0;   // the number of consecutive similar waits
  long long expected_ = 0;  // 0: no prediction
};

}  // namespace weir::detail
