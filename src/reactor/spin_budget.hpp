// reactor/spin_budget.hpp - for how long it pays to look again and again before sleeping.
#pragma once

#include "os/spin_lock.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>

namespace weir::detail {

// Between two looks, so long after the first. What the engine runs, it may run on this thread's
// processor: then that is given away now and then. A driver that is asked without a pause has
// threads that launch wait; asked once a microsecond less so.
inline void spin_pause(unsigned& spins, bool waits_for_engine, long long elapsed) noexcept {
  constexpr unsigned spins_between_yields = 16;
  constexpr long long max_pauses = 20;  // some 1 us
  constexpr long long elapsed_per_pause =
      1'600;  // a pause is some 50 ns, and the end may be noticed 3 % late
  if (waits_for_engine && ++spins % spins_between_yields == 0) {
    sched_yield();
    return;
  }
  const long long pauses = waits_for_engine ? 0 : std::min(elapsed / elapsed_per_pause, max_pauses);
  for (long long i = 0; i <= pauses; ++i) pause();
}

// Learns from how long waits have taken lately. A thread that spins sees the end of work 4 us after
// it on a GPU, one that sleeps much later: so waits that are mostly short are spun through whole,
// and where they are mostly long hardly any time is spent on it. A program waits for different work
// by turns, and two streams may end at once, one wait of 100 us and one of none: so it covers the
// longer of those of up to 1 ms, and forgets them slowly. Thread safety: all members, from any
// thread; what two learn at once may be lost.
class spin_budget {
 public:
  [[nodiscard]] long long nanoseconds() const noexcept {
    return budget_.load(std::memory_order_relaxed);
  }

  // A wait ended so long after it began.
  void record_wait(long long waited) noexcept {
    const long long now = nanoseconds();
    const long long wanted = waited <= max_budget ? std::max(2 * waited, min_budget) : min_budget;
    const bool adapts_fast = waited > max_short_wait || now > 2 * max_short_wait;
    const long long divisor = adapts_fast ? 4 : wanted > now ? 1 : 32;
    budget_.store(std::clamp(now + (wanted - now) / divisor, min_budget, max_budget),
                  std::memory_order_relaxed);
  }

  // The time was over so long after a wait began, and nobody knows how long it would have taken.
  // Who asks again and again with little time would spin for ever, so what was looked for in vain
  // shortens the budget, down to what a sleep costs anyway.
  void record_timeout(long long waited) noexcept {
    if (std::min(waited, nanoseconds()) > sleep_cost) record_wait(max_budget + 1);
  }

 private:
  static constexpr long long min_budget = 5'000;
  static constexpr long long max_budget = 10'000'000;
  static constexpr long long max_short_wait = 1'000'000;
  static constexpr long long sleep_cost = 50'000;

  std::atomic<long long> budget_{sleep_cost};
};

}  // namespace weir::detail
