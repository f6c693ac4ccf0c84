// probe/time_limits.hpp - how long the probe waits for what, and what it opens when a case is over.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace weir::conformance {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point t);
void sleep_ms(int ms);

constexpr int kMustNotHappenMs = 120;  // "it has not happened" is watched for so long
constexpr int kMustHappenMs = 2500;    // "it must happen" may take so long
constexpr int kBlockedMs = 350;        // a call that stays longer counts as blocking
constexpr double kWatchdogLimit =
    7;  // seconds that a case may take before the watchdog lets it go, unless options say otherwise
constexpr int kSlowFactor =
    3;  // a case that makes or destroys contexts gets so many times the usual limit

// A gate opens by itself after this: longer than the watchdog waits, shorter than the parent does.
int gate_limit_ms();

// The time of a thread that looks again and again, as it passes on a machine that does nothing
// else. Where others run for most of a look, those that are looked at run as little: so no look
// counts for more than a millisecond, until all of them have taken a second too long.
class PollTimer {
 public:
  static constexpr std::chrono::milliseconds kPollInterval{1};
  explicit PollTimer(int ms);
  bool is_expired();  // after each look: is the time over?

 private:
  Clock::duration left_;
  Clock::time_point last_;
  Clock::time_point end_;
};

// Does f become true within ms? Asked every tenth of a millisecond.
bool wait_for(const std::function<bool()>& f, int ms);

// Does f, under the lock, become true within ms? Asked whenever `changed` says so.
template <class F>
bool wait_for(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, int ms, F f) {
  for (PollTimer timer(ms); !changed.wait_for(lock, PollTimer::kPollInterval, f);)
    if (timer.is_expired()) return f();
  return true;
}

// Registers what lets the work of this case go on; it may be called more than once. All of them are
// called when the case ends, however it ends, and when the watchdog's patience does.
void on_release(std::function<void()> f);
void release_all();

// The limits of the case that begins: the watchdog's, and longer ones. Forgets the releases of the
// case before.
void begin_case_limits(double seconds);

}  // namespace weir::conformance
