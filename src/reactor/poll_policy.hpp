// SPDX-License-Identifier: Apache-2.0
// reactor/poll_policy.hpp - the constants of polling, spinning and sleeping.
#pragma once

namespace weir::detail {

// All constants of the policy. Times are in nanoseconds.
namespace poll_policy {

inline constexpr long long microsecond = 1'000;
inline constexpr long long millisecond = 1'000 * microsecond;

// Spinning threads.

// A thread that waits for the embedded engine yields in every 16th pause, since a worker may need
// this CPU.
inline constexpr unsigned spins_between_yields = 16;
// A thread that waits for a GPU pauses 20 times (about 1 us) between two polls at most.
inline constexpr long long max_pauses = 20;
// Each 1.6 us waited adds a pause (about 50 ns), so completion is seen at most 3 % late.
inline constexpr long long elapsed_per_pause = 1'600;
// A thread spins for at least 5 us before it sleeps.
inline constexpr long long min_spin_budget = 5 * microsecond;
// A thread spins for at most 10 ms before it sleeps.
inline constexpr long long max_spin_budget = 10 * millisecond;
// The longest wait that counts as short for the spin budget, the time that a thread spins before it
// sleeps (spin_budget.hpp). After a short wait, a budget of less than twice that wait rises to
// twice the wait at once. A larger budget shrinks slowly, so that it still covers the longest of
// the recent short waits. After a longer wait, and from more than twice this time, the budget moves
// a quarter of the way to its new value.
inline constexpr long long max_short_wait = millisecond;
// A sleep and a wakeup delay a thread by about 50 us. This is also the spin budget before the first
// wait.
inline constexpr long long sleep_cost = 50 * microsecond;
// The reactor thread spins for at most 50 us while no waiter needs it.
inline constexpr long long idle_spin_time = 50 * microsecond;

// Delays between two polls of the reactor thread.

// Contention means that threads of the program call the driver all the time. Without contention the
// delay is 1/64 of the time since the first poll, so completion is seen at most 1.5 % late.
inline constexpr long long elapsed_per_delay = 64;
// While contention is certain, the delay is half of the time since the first poll, within limits
// (poll_interval::delay()).
inline constexpr long long elapsed_per_contended_delay = 2;
// While contention is certain, the delay is at least 24 us. Each poll costs a thread that launches
// about 0.3 us, so it loses about 1 % of its time.
inline constexpr long long contended_delay = 24 * microsecond;
// While contention is certain and one pass over the queues polls several events, the delay is at
// least 64 us, since each completion also delays launches.
inline constexpr long long contended_delay_of_several = 64 * microsecond;
// While contention is only suspected, the delay is 5 us for each event polled in a pass, and 15 us
// for three or more.
inline constexpr long long suspected_delay = 5 * microsecond;
// The delay never exceeds 250 us.
inline constexpr long long max_delay = 250 * microsecond;

// Detection of threads that call the driver all the time (contention_detector.hpp). Time is divided
// into rounds, and a round counts as one with calls or without.

// A round lasts 8 us: a thread that launches calls the driver at least once in that time.
inline constexpr long long min_round = 8 * microsecond;
// A round with calls lasts 48 us while contention is certain, because its first call costs the
// caller 0.1 us.
inline constexpr long long max_round = 48 * microsecond;
// The detector forgets that contention is certain if no round has counted for 1 ms.
inline constexpr long long max_age = millisecond;
// Three consecutive rounds with calls make contention certain.
inline constexpr int rounds_to_detect = 3;
// Two consecutive rounds without calls end contention.
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
// The reactor enables the fault monitor after 500 sleeps of 0.6 ms or more. By then the wakeups
// after these sleeps have cost as much as starting the monitor (10 to 20 ms of CPU time).
inline constexpr int long_sleeps_before_watch = 500;
// For 2 s after a fault report, sleeps stay short, because the driver may return the error only
// some time after the report.
inline constexpr long long fault_alert_duration = 2'000 * millisecond;

}  // namespace poll_policy

}  // namespace weir::detail
