// SPDX-License-Identifier: Apache-2.0
// reactor/timer_queue.hpp - the deadlines of waits, earliest first.
#pragma once

#include "os/spin_lock.hpp"

#include <weir/detail/completion_waiter.hpp>

#include <atomic>
#include <cstddef>
#include <limits>
#include <vector>

namespace weir::detail {

// A heap of timers. Each timer stores its index, so that it can be removed without a search.
//
// Thread safety: all members may be called from any thread.
class timer_queue {
 public:
  static constexpr long long never = std::numeric_limits<long long>::max();

  // Adds a timer; `deadline` in nanoseconds of the steady clock. Returns true if it is now the
  // earliest. The timer must exist until it is removed or popped. Throws: std::bad_alloc.
  bool add(wait_timer& timer, long long deadline);
  // Returns true if the timer was queued and will not be notified.
  bool remove(wait_timer& timer) noexcept;

  // Returns the earliest deadline, or `never`. Cost: one load.
  [[nodiscard]] long long earliest() const noexcept {
    return earliest_.load(std::memory_order_acquire);
  }

  // Removes and returns a timer whose deadline is not after `now`; null if there is none.
  [[nodiscard]] wait_timer* pop_expired(long long now) noexcept;

 private:
  void place_at(std::size_t index, wait_timer& timer) noexcept;
  void sift_up(std::size_t index) noexcept;
  void sift_down(std::size_t index) noexcept;
  void remove_at(std::size_t index) noexcept;

  os::spin_lock lock_;
  std::vector<wait_timer*> heap_;
  std::atomic<long long> earliest_{never};
};

}  // namespace weir::detail
