// SPDX-License-Identifier: Apache-2.0
// probe/time_limits.hpp - the probe's time limits, and what it releases at the end of a case.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace weir::conformance {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point t);
void sleep_ms(int ms);

constexpr int kMustNotHappenMs = 120;  // how long "it has not happened" is observed
constexpr int kMustHappenMs = 2500;    // how long "it must happen" may take
constexpr int kBlockedMs = 350;        // a call that takes longer counts as blocking
constexpr double kWatchdogLimit =
    7;  // seconds until the watchdog releases a case, unless options say otherwise
constexpr int kSlowFactor = 3;  // factor of the limit for a case that creates or destroys contexts

// Returns the time after which a gate opens by itself: longer than the watchdog waits, shorter than
// the parent does.
int gate_limit_ms();

// The time budget of a polling thread, corrected for a busy machine. If other processes run during
// most of a poll, so they do instead of the polled threads. So each poll counts for at most a
// millisecond, until all of them together are a second late.
class PollTimer {
 public:
  static constexpr std::chrono::milliseconds kPollInterval{1};
  explicit PollTimer(int ms);
  bool is_expired();  // call after each poll; returns true if the time is over

 private:
  Clock::duration left_;
  Clock::time_point last_;
  Clock::time_point end_;
};

// Returns true if f becomes true within ms. Polls every 0.1 ms.
bool wait_for(const std::function<bool()>& f, int ms);

// Returns true if f, called under the lock, becomes true within ms. Polls on each notification of
// `changed`.
template <class F>
bool wait_for(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, int ms, F f) {
  for (PollTimer timer(ms); !changed.wait_for(lock, PollTimer::kPollInterval, f);)
    if (timer.is_expired()) return f();
  return true;
}

// Registers a function that releases blocked work of this case; it may be called more than once.
// All are called at the end of the case, and when the watchdog expires.
void on_release(std::function<void()> f);
void release_all();

// Sets the limits of the next case: the watchdog's, and longer ones. Drops the previous case's
// release functions.
void begin_case_limits(double seconds);

}  // namespace weir::conformance
