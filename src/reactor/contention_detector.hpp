// SPDX-License-Identifier: Apache-2.0
// reactor/contention_detector.hpp - detects threads that call the driver all the time.
#pragma once

#include "reactor/poll_policy.hpp"

#include <atomic>

namespace weir::detail {

// Says whether threads of the program call the driver continuously.
enum class contention : unsigned char { none, suspected, certain };

// Detects threads that call the driver all the time. Time is divided into rounds of at least 8 us.
// The reactor begins an epoch with each round: a period for which driver_activity.hpp records
// whether another thread has called the driver.
//
// A thread that launches calls every few microseconds. A thread that enqueues the next work after a
// notification calls for some microseconds and then waits. So a round with a notification does not
// count, nor do the 8 us after the notification. If calls go on, contention is suspected about 10
// us after a notification, and certain after about 35 us.
//
// All times are in nanoseconds. Thread safety: none; each reactor thread has its own.
class contention_detector {
 public:
  [[nodiscard]] contention level() const noexcept {
    if (is_certain_) return contention::certain;
    return has_calls_ || consecutive_rounds_ > 0 ? contention::suspected : contention::none;
  }

  // Records that a waiter was notified at `now`: the calls that follow may be its reaction.
  void record_notification(long long now) noexcept {
    if (now - last_counted_ > poll_policy::max_age) reset();
    start_round(now);
    is_round_open_ = false;
    if (!is_certain_) consecutive_rounds_ = 0;
  }

  // Call this repeatedly while polling. `called`: whether another thread has called the driver in
  // the current epoch. Returns true if a new round has begun; the caller then begins a new epoch.
  // A round that ends more than 48 us late, because the caller slept, does not count.
  //
  // While contention is certain, a round with calls lasts 48 us, because the first call in each
  // epoch costs its thread 0.1 us. The end of the calls is noticed within 70 us.
  [[nodiscard]] bool update(bool called, long long now) noexcept {
    if (now - last_counted_ > poll_policy::max_age) reset();
    if (is_round_open_ && called) has_calls_ = true;
    if (now < round_end_) return false;
    const long long late = now - round_end_;
    if (is_round_open_ && late <= poll_policy::max_round) {
      if (called && is_certain_ && late < poll_policy::max_round - poll_policy::min_round)
        return false;
      count_round(called);
      last_counted_ = now;
    }
    start_round(now);
    return true;
  }

 private:
  void start_round(long long now) noexcept {
    is_round_open_ = true;
    has_calls_ = false;
    round_end_ = now + poll_policy::min_round;
  }

  void count_round(bool called) noexcept {
    consecutive_rounds_ = called != is_certain_ ? consecutive_rounds_ + 1 : 0;
    if (consecutive_rounds_ <
        (called ? poll_policy::rounds_to_detect : poll_policy::rounds_to_clear))
      return;
    is_certain_ = called;
    consecutive_rounds_ = 0;
  }

  // Forgets the rounds counted so far, because the last one is too long ago.
  void reset() noexcept {
    is_certain_ = false;
    consecutive_rounds_ = 0;
  }

  bool is_round_open_ = false;  // false: the current round does not count
  bool has_calls_ = false;      // another thread has called in the current round
  bool is_certain_ = false;
  int consecutive_rounds_ = 0;  // rounds in a row that contradict is_certain_
  long long round_end_ = 0;
  long long last_counted_ = 0;
};

// The number of weir::expect_external_launches objects: the program announces driver calls that
// weir cannot see.
inline constinit std::atomic<int> external_callers{0};

// Returns `certain` while external callers are announced, else `seen`.
[[nodiscard]] inline contention with_external_callers(contention seen) noexcept {
  return external_callers.load(std::memory_order_relaxed) > 0 ? contention::certain : seen;
}

}  // namespace weir::detail
