// SPDX-License-Identifier: Apache-2.0
// reactor/spin_budget.hpp - how long a thread spins before it sleeps, and its pauses meanwhile.
#pragma once

#include "os/spin_lock.hpp"
#include "reactor/poll_policy.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>

namespace weir::detail {

// Pauses between two polls of a spinning thread. `elapsed`: nanoseconds since the first poll.
// `spins`: the caller's counter of calls. A thread that waits for the embedded engine yields its
// CPU in every 16th call. A thread that polls a GPU's driver makes longer pauses with time, up to 1
// us, because polling delays threads that launch.
inline void spin_pause(unsigned& spins, bool waits_for_engine, long long elapsed) noexcept {
  if (waits_for_engine && ++spins % poll_policy::spins_between_yields == 0) {
    sched_yield();
    return;
  }
  const long long pauses = waits_for_engine ? 0
                                            : std::min(elapsed / poll_policy::elapsed_per_pause,
                                                       poll_policy::max_pauses);
  for (long long i = 0; i <= pauses; ++i) os::pause();
}

// Learns from recent waits for how long a thread should spin before it sleeps.
//
// On a GPU, a spinning thread detects the end of the work after about 4 us, and a sleeping thread
// much later. If waits are mostly short, threads spin through them. If most are longer than 10 ms,
// the budget is the minimum.
//
// The budget must not follow each wait, because the lengths of waits alternate: if two streams
// finish together, a wait of 100 us is followed by one of 0. The budget therefore rises at once to
// twice a wait of up to 1 ms, and shrinks slowly after shorter waits.
//
// Thread safety: all members may be called from any thread. Concurrent updates may be lost.
class spin_budget {
 public:
  // Returns for how long a thread should spin before it sleeps.
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

  // Records a wait that timed out after `waited` nanoseconds. If the thread spun for longer than a
  // sleep costs, the spinning was in vain, and the budget shrinks as after a long wait. Otherwise a
  // caller that repeats short timed waits would spin all the time.
  void record_timeout(long long waited) noexcept {
    if (std::min(waited, nanoseconds()) > poll_policy::sleep_cost)
      record_wait(poll_policy::max_spin_budget + 1);
  }

 private:
  std::atomic<long long> budget_{poll_policy::sleep_cost};
};

}  // namespace weir::detail
