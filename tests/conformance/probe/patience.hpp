// probe/patience.hpp - how long the probe waits for what, and what it opens when a case is over.
#pragma once

#include <chrono>
#include <functional>

namespace weir::conformance {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point t);
void sleep_ms(int ms);

constexpr int kNotYetMs = 120;   // "it has not happened" is watched for so long
constexpr int kSurelyMs = 2500;  // "it must happen" may take so long
constexpr int kBlockedMs = 350;  // a call that stays longer counts as blocking
constexpr int kSlowFactor = 3;   // a case that makes or destroys contexts gets so many times the usual limit

// A gate opens by itself after this: longer than the watchdog waits, shorter than the parent does.
int gate_limit_ms();

// Does f become true within ms? Asked every tenth of a millisecond.
bool wait_for(const std::function<bool()>& f, int ms);

// Registers what lets the work of this case go on; it may be called more than once. All of them are called when the case
// ends, however it ends, and when the watchdog's patience does.
void on_release(std::function<void()> f);
void release_all();

// The limits of the case that begins: factor times the usual ones. Forgets the releases of the case before.
void begin_patience(int factor);

}  // namespace weir::conformance
