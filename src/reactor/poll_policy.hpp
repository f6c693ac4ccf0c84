// SPDX-License-Identifier: Apache-2.0
// reactor/poll_policy.hpp - how often to poll the driver, how long to spin, and how long to sleep.
#pragma once

#include "os/spin_lock.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <utility>

namespace weir::detail {

// All constants of the policy. Times are in nanoseconds.
namespace poll_policy {

inline constexpr long long microsecond = 1'000;
inline constexpr long long millisecond = 1'000 * microsecond;

// Spinning threads.

// A thread that waits for the embedded engine yields every 16th time, since a worker may need this
// CPU.
inline constexpr unsigned spins_between_yields = 16;
// A thread that waits for a GPU pauses 20 times (about 1 us) between two polls at most.
inline constexpr long long max_pauses = 20;
// Each 1.6 us waited adds a pause (about 50 ns), so completion is seen at most 3 % late.
inline constexpr long long elapsed_per_pause = 1'600;
// A thread spins for at least 5 us before it sleeps.
inline constexpr long long min_spin_budget = 5 * microsecond;
// A thread spins for at most 10 ms before it sleeps.
inline constexpr long long max_spin_budget = 10 * millisecond;
// The budget covers the longest of the recent waits of up to 1 ms and forgets them slowly.
inline constexpr long long max_short_wait = millisecond;
// A sleep and a wakeup cost about 50 us, which is also the budget before the first wait.
inline constexpr long long sleep_cost = 50 * microsecond;
// The reactor thread spins for at most 50 us while no waiter needs it.
inline constexpr long long idle_spin_time = 50 * microsecond;

// Delays between two polls of the reactor thread.

// Without contention the delay is 1/64 of the time since the first poll, so completion is seen at
// most 1.5 % late.
inline constexpr long long elapsed_per_delay = 64;
// The thread waits for half of the time since the first poll while other threads call the driver.
inline constexpr long long elapsed_per_contended_delay = 2;
// A thread that launches loses about 0.3 us for each poll, hence 1 % if polls are 24 us apart.
inline constexpr long long contended_delay = 24 * microsecond;
// If a round polls several events the delay is at least 64 us, since each completion also delays
// launches.
inline constexpr long long contended_delay_of_several = 64 * microsecond;
// While contention is only suspected the delay is 5 us for each event of a round, up to three.
inline constexpr long long suspected_delay = 5 * microsecond;
// The delay never exceeds 250 us.
inline constexpr long long max_delay = 250 * microsecond;

// Detection of threads that call the driver all the time.

// A round lasts 8 us: a thread that launches calls the driver at least once in that time.
inline constexpr long long min_round = 8 * microsecond;
// A round with calls lasts 48 us while contention is certain, because its first call costs the
// caller 0.1 us.
inline constexpr long long max_round = 48 * microsecond;
// A result is discarded if no round has been counted for 1 ms.
inline constexpr long long max_age = millisecond;
// Three consecutive rounds with calls make contention certain.
inline constexpr int rounds_to_detect = 3;
// Two consecutive rounds without calls end it.
inline constexpr int rounds_to_clear = 2;

// Sleeps of the reactor thread between two polls. Each wakeup costs 10 to 20 us of CPU time.

// A sleep lasts at least 20 us.
inline constexpr long long min_sleep = 20 * microsecond;
// Without a prediction, a sleep lasts at most 3 ms.
inline constexpr long long max_sleep = 3 * millisecond;
// Around the predicted end of the work, a sleep lasts at most 0.8 ms.
inline constexpr long long max_sleep_near_end = 800 * microsecond;
// Long before the predicted end of the work, a sleep lasts at most 10 ms.
inline constexpr long long max_sleep_before_end = 10 * millisecond;
// Without fault reports, a sleep lasts at most 0.6 ms: polling has to find a fault within 1 ms, and
// notifying a waiter takes 0.3 us.
inline constexpr long long max_sleep_without_fault_reports = 600 * microsecond;
// The next wait is predicted after three waits that were each similar to the one before.
inline constexpr int min_similar_waits = 3;
// The reactor enables the fault monitor after 500 sleeps of 0.6 ms or more. By then their wakeups
// have cost as much as starting it (10 to 20 ms of CPU time).
inline constexpr int long_sleeps_before_watch = 500;
// For 2 s after a fault report sleeps stay short, because the driver may return the error late.
inline constexpr long long fault_alert_duration = 2'000 * millisecond;

}  // namespace poll_policy

// Pauses between two polls of a spinning thread. `elapsed`: nanoseconds since the first poll.
// `spins`: the caller's counter of calls. A thread that waits for the embedded engine yields now
// and then. A thread that polls a GPU's driver backs off to one poll per microsecond, because
// polling delays threads that launch.
inline void spin_pause(unsigned& spins, bool waits_for_engine, long long elapsed) noexcept {
  if (waits_for_engine && ++spins % poll_policy::spins_between_yields == 0) {
    sched_yield();
    return;
  }
  const long long pauses = waits_for_engine ? 0
                                            : std::min(elapsed / poll_policy::elapsed_per_pause,
                                                       poll_policy::max_pauses);
  for (long long i = 0; i <= pauses; ++i) pause();
}

// Learns from recent waits for how long a thread should spin before it sleeps.
//
// On a GPU, a spinning thread detects the end of the work after about 4 us, and a sleeping thread
// much later. If waits are mostly short, threads spin through them. If they are mostly long, the
// budget is the minimum. A program alternates between different work, and two streams may finish
// together (one wait of 100 us and one of 0). So the budget covers the longer of the waits of up to
// 1 ms, and forgets them slowly.
//
// Thread safety: all members may be called from any thread. Concurrent updates may be lost.
class spin_budget {
 public:
  [[nodiscard]] long long nanoseconds() const noexcept {
    return budget_.load(std::memory_order_relaxed);
  }

  // Records a wait that took `waited` nanoseconds.
  void record_wait(long long waited) noexcept {
    const long long now = nanoseconds();
    const long long target = waited <= poll_policy::max_spin_budget
                                 ? std::max(2 * waited, poll_policy::min_spin_budget)
                                 : poll_policy::min_spin_budget;
    const bool adapts_fast =
        waited > poll_policy::max_short_wait || now > 2 * poll_policy::max_short_wait;
    const long long divisor = adapts_fast ? 4 : target > now ? 1 : 32;
    budget_.store(std::clamp(now + (target - now) / divisor, poll_policy::min_spin_budget,
                             poll_policy::max_spin_budget),
                  std::memory_order_relaxed);
  }

  // Records a wait that timed out after `waited` nanoseconds. Its full length is unknown, but
  // spinning for longer than a sleep costs was in vain. So it shrinks the budget as a long wait
  // does: a caller that repeats short timed waits would otherwise spin forever.
  void record_timeout(long long waited) noexcept {
    if (std::min(waited, nanoseconds()) > poll_policy::sleep_cost)
      record_wait(poll_policy::max_spin_budget + 1);
  }

 private:
  std::atomic<long long> budget_{poll_policy::sleep_cost};
};

// Says whether threads of the program call the driver continuously.
enum class contention : unsigned char { none, suspected, certain };

// Detects threads that call the driver all the time, from the rounds of driver_activity.hpp.
//
// A thread that launches calls every few microseconds. A thread that enqueues the next work after a
// notification calls for some microseconds and then waits. So a round starts only when no waiter
// has been notified for a while, and a round with a notification does not count. Contention is
// suspected about 10 us after a notification, and certain after about 35 us.
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

  // Updates the open round; `called`: whether another thread has called the driver in it. Returns
  // true if the caller has to begin another epoch now. While calls go on rounds are longer, because
  // the first call of each costs its thread 0.1 us. The end of the calls is noticed within 70 us.
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

  // Discards a result that is too old to say anything about the present.
  void reset() noexcept {
    is_certain_ = false;
    consecutive_rounds_ = 0;
  }

  bool is_round_open_ = false;
  bool has_calls_ = false;  // another thread has called in the open round
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

// The delay between two polls of a driver that other threads call, too.
//
// Each poll takes the driver's locks and cache lines from a thread that launches, which loses about
// 0.3 us. Without such threads polling is free, and completion is seen at once. Calls through weir
// are detected (contention_detector). Calls made directly to the driver are not: a detection of
// them also reports callers that do not exist (docs/performance/history.md).
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

  // Returns the delay before the next poll. `elapsed`: time since the first poll. `polls`: events
  // polled per round.
  //
  // Normally elapsed/64, limited to 0.5 us per event (but to no less than 1 us). Under contention
  // elapsed/2, at least 24 us (64 us for several events) and at most 24 us per event, between 48
  // and 250 us. If contention is only suspected, 5 us for each event, up to three.
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

// Computes the time to sleep between two polls of long work.
//
// A sleep is a quarter of the time waited so far, so completion is seen at most 25 % late. If
// recent waits were similar, the next is predicted to take as long: polls are rare until shortly
// before the predicted end, and close around it. Work that ends long before the prediction is seen
// late by as much as it took, or by 1/128 of the prediction.
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
  int similar_waits_ = 0;
  long long expected_ = 0;  // 0: no prediction
};

}  // namespace weir::detail
