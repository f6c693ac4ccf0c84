// engine/idle_spin.hpp - how long a thread of the driver looks for more work before it sleeps.
#pragma once

#include <sched.h>

#include "embedded/engine/spin_lock.hpp"

namespace weir::embedded::engine {

// Rounds of about a microsecond: long enough that a thread that looks does not fight over cache
// lines with those who submit, short enough not to be noticed. Waking a sleeping thread costs some
// 5 to 25 us, so looking for about twice that is the cheaper way, and an idle process still uses no
// processor.
class idle_spin {
 public:
  void reset() noexcept { rounds_ = 0; }

  // Passes a round's time. False when it is time to sleep.
  [[nodiscard]] bool spin_once() noexcept {
    if (++rounds_ > max_rounds) return false;
    if (rounds_ % rounds_between_yields == 0) {
      sched_yield();
    } else {
      for (int i = 0; i < pauses; ++i) pause();
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
