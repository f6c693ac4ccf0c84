// api/deferred/exit_policy.hpp - how long the end of the process waits for what is left to weir's
// own thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace weir::detail {

// Exit waits as long as weir's thread gets on, and while that ends objects of the program's. Where
// it does not get on for a while, in which devices may come to the end of their work, exit loses
// patience: nothing is waited for then that waits for a device. Where a call of the thread still
// does not return exit gives that up: whatever it waits for holds the driver up. What others leave
// meanwhile is worth a moment each time, and some more in which objects of the program's are ended.
class exit_policy {
 public:
  static constexpr std::chrono::milliseconds stall_timeout{100};
  // For so many moments the thread is at the same call: it may just not have had a processor.
  static constexpr int stalls_before_skipping_devices = 3;
  static constexpr int stalls_before_giving_up = 4;

  // On the thread that ends the process, if that is known before the first wait, which then comes
  // with what is left next.
  void exit_may_have_started() noexcept {
    thread_ = std::this_thread::get_id();
    requested_ = false;
    own_requested_ = false;
  }

  // On that thread, each time that it begins to wait. Is it for what that has left, or for what was
  // left before? If not it is for what others have left meanwhile.
  [[nodiscard]] bool begin_drain() noexcept {
    thread_ = std::this_thread::get_id();
    exit_has_started_ = true;
    requested_ = false;
    own_requested_ = false;
    return std::exchange(own_drain_due_, false);
  }
  // Nobody else may end the process any more.
  void set_exit_started() noexcept { exit_has_started_ = true; }
  [[nodiscard]] bool exit_has_started() const noexcept { return exit_has_started_; }
  [[nodiscard]] bool waits_for_devices() const noexcept { return !skips_devices_; }
  void stop_waiting_for_devices() noexcept { skips_devices_ = true; }
  // One more moment for objects of the program's that others have left?
  [[nodiscard]] bool has_time_for_other_threads() noexcept {
    return spend_on_other_threads(stall_timeout);
  }
  // All that others had left was done, so long after the last such moment. That counts as one of
  // the few only if they keep exit for long.
  void other_threads_are_done(std::chrono::steady_clock::duration after) noexcept {
    if (spend_on_other_threads(std::max<std::chrono::steady_clock::duration>(after, min_charge)))
      ++remaining_drains_;
  }

  // From any thread, which has left something: is another wait to be asked for, before statics are
  // destroyed that have been there for longer? Other threads may go on leaving chores for ever, so
  // they are granted a few; the last wait of all is for what they have left after these.
  [[nodiscard]] bool needs_another_drain() noexcept {
    if (std::this_thread::get_id() == thread_) {
      own_drain_due_ = true;
      return !std::exchange(own_requested_, true);
    }
    if (requested_ || remaining_drains_ <= 0 || requested_.exchange(true)) return false;
    --remaining_drains_;
    return true;
  }

 private:
  // Counted for what takes no time, of which others may leave any number.
  static constexpr std::chrono::milliseconds min_charge{1};

  bool spend_on_other_threads(std::chrono::steady_clock::duration time) noexcept {
    time_for_other_threads_ -= time;
    return time_for_other_threads_ > std::chrono::steady_clock::duration::zero();
  }

  std::atomic<bool> exit_has_started_{false};
  std::atomic<bool> skips_devices_{false};
  std::atomic<bool> requested_{true};  // the first one is, with the thread
  std::atomic<std::thread::id> thread_{};
  std::atomic<int> remaining_drains_{8};

  // That thread's.
  bool own_drain_due_ = true;
  bool own_requested_ = true;  // as requested_
  std::chrono::steady_clock::duration time_for_other_threads_ = std::chrono::seconds{2};
};

}  // namespace weir::detail
