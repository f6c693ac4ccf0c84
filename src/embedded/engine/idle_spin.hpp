// SPDX-License-Identifier: Apache-2.0
// embedded/engine/idle_spin.hpp - how long a driver thread looks for more work before it sleeps.
#pragma once

#include <sched.h>

#include "os/spin_lock.hpp"

namespace weir::embedded::engine {

// A thread calls spin_once() each time that it has found no work. Each call takes about a
// microsecond: long enough not to contend for cache lines with submitting threads, short enough not
// to delay work. Waking a sleeping thread costs some 5 to 25 us, so the thread first spins for
// about 50 us. An idle process still uses no processor.
class idle_spin {
 public:
  // Call this when the thread has found work or was woken.
  void reset() noexcept { rounds_ = 0; }

  // Spins for about a microsecond. Returns false after 50 calls since reset(): the thread should
  // sleep.
  [[nodiscard]] bool spin_once() noexcept {
    if (rounds_ == max_rounds) return false;
    ++rounds_;
    if (rounds_ % rounds_between_yields == 0) {
      sched_yield();
    } else {
      for (int i = 0; i < pauses; ++i) os::pause();
    }
    return true;
  }

 private:
  static constexpr int max_rounds = 50;
  static constexpr int rounds_between_yields = 8;
  static constexpr int pauses = 16;
  int rounds_ = 0;
};

}  // namespace weir::embedded::engine
