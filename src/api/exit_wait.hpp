// api/exit_wait.hpp - how long the end of the process waits for what is left to weir's own thread.
#pragma once

#include "api/guard.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

namespace weir::detail {

// Exit is patient for a moment, in which devices may come to the end of their work; time in which objects of the program's
// are ended does not count. Once that was in vain it waits for nothing that waits for a device; and where a call of weir's
// thread does not return it gives that up: whatever it waits for holds the driver up.
class exit_wait {
 public:
  using clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds patience{100};

  // On the thread that ends the process, each time that it begins to wait. Is it for what this thread has left, too?
  [[nodiscard]] bool begin() noexcept {
    const bool for_own = thread_.exchange(std::this_thread::get_id()) == std::thread::id{} || own_drain_is_due_;
    own_drain_is_due_ = false;
    goes_on_ = (clock::now() + patience).time_since_epoch();
    others_may_ask_ = true;
    return for_own;
  }
  // Until when, if the program's objects have been ended until `program`.
  [[nodiscard]] clock::time_point end(clock::time_point program) const noexcept {
    return std::max(clock::time_point{goes_on_.load()}, program + patience);
  }
  [[nodiscard]] bool has_patience() const noexcept { return !in_vain_; }
  void lose_patience() noexcept { in_vain_ = true; }

  // At that step of weir's thread.
  void give_up(std::uint64_t step) noexcept {
    given_up_ = step;
    driver_is_held_up = true;
  }
  // Has it come no further since?
  [[nodiscard]] bool has_given_up(std::uint64_t step) noexcept {
    if (given_up_ == step) return true;
    if (given_up_ != never) driver_is_held_up = false;
    given_up_ = never;
    return false;
  }

  // From any thread, which is about to leave something. The one that ends the process goes on to wait for it.
  void go_on() noexcept {
    if (is_this_thread()) goes_on_ = (clock::now() + patience).time_since_epoch();
  }
  // From any thread, which has left something: is another drain to be asked for? Other threads may go on leaving chores for
  // as long as exit waits for those that there are, so they are granted a few, and each gets no more than patience.
  [[nodiscard]] bool wants_drain() noexcept {
    if (is_this_thread()) return !std::exchange(own_drain_is_due_, true);
    if (!others_may_ask_.load(std::memory_order_relaxed) || granted_ == 0) return false;
    if (!others_may_ask_.exchange(false)) return false;
    --granted_;
    return true;
  }

  // On weir's thread: may a call be begun that waits for a device?
  [[nodiscard]] bool has_time_for_devices(clock::time_point program) const noexcept {
    return thread_.load() == std::thread::id{} || (!in_vain_ && clock::now() < end(program));
  }

 private:
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  [[nodiscard]] bool is_this_thread() const noexcept { return std::this_thread::get_id() == thread_; }

  std::atomic<std::thread::id> thread_{};  // that ends the process and has begun to wait
  std::atomic<clock::duration> goes_on_{};
  std::atomic<bool> in_vain_{false};
  std::atomic<bool> others_may_ask_{false};
  std::atomic<int> granted_{4};

  // That thread's.
  bool own_drain_is_due_ = false;
  std::uint64_t given_up_ = never;
};

}  // namespace weir::detail
