// reactor/timer_queue.hpp - deadlines of waits.
#pragma once

#include "os/spin_lock.hpp"

#include <weir/detail/completion_waiter.hpp>

#include <atomic>
#include <cstddef>
#include <limits>
#include <vector>

namespace weir::detail {

// The earliest first, in a heap whose entries know their places. Thread safety: all members, from
// any thread.
class timer_queue {
 public:
  static constexpr long long never = std::numeric_limits<long long>::max();

  // True if it is the earliest of all now. Throws std::bad_alloc.
  bool add(wait_timer& timer, long long deadline);
  // True if it is not told and never will be.
  bool remove(wait_timer& timer) noexcept;

  // The earliest deadline, or never: one load.
  [[nodiscard]] long long earliest() const noexcept {
    return earliest_.load(std::memory_order_acquire);
  }

  // Takes out one whose time has come; null if there is none.
  [[nodiscard]] wait_timer* pop_expired(long long now) noexcept;

 private:
  void place_at(std::size_t index, wait_timer& timer) noexcept;
  void sift_up(std::size_t index) noexcept;
  void sift_down(std::size_t index) noexcept;
  void remove_at(std::size_t index) noexcept;

  spin_lock lock_;
  std::vector<wait_timer*> heap_;
  std::atomic<long long> earliest_{never};
};

}  // namespace weir::detail
