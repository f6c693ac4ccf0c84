// SPDX-License-Identifier: Apache-2.0
// api/deferred/exit_policy.hpp - how long the exit of the process waits for deferred tasks.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace weir::detail {

// Exit waits as long as the reclaimer thread makes progress or runs destructors of the program. If
// it makes none for stalls_before_skipping_devices timeouts, exit no longer waits for devices. If
// its driver call still does not return, exit gives up, since that call blocks the driver. Tasks
// that other threads defer meanwhile get one timeout each; destructors of the program among them
// get more, from a budget of 2 s.
class exit_policy {
 public:
  static constexpr std::chrono::milliseconds stall_timeout{100};
  // Number of timeouts at one call before exit acts. More than one, because the thread may have
  // been preempted.
  static constexpr int stalls_before_skipping_devices = 3;
  static constexpr int stalls_before_giving_up = 4;

  // Called on the exiting thread when exit is detected before the first drain. The next deferred
  // task then schedules the drain.
  void exit_may_have_started() noexcept {
    thread_ = std::this_thread::get_id();
    requested_ = false;
    own_requested_ = false;
  }

  // Called on the exiting thread at the start of each drain. Returns true if the drain is for tasks
  // that were deferred before exit, or by the exiting thread. Otherwise it is for tasks that other
  // threads have deferred meanwhile.
  [[nodiscard]] bool begin_drain() noexcept {
    thread_ = std::this_thread::get_id();
    exit_has_started_ = true;
    requested_ = false;
    own_requested_ = false;
    return std::exchange(own_drain_due_, false);
  }
  // Called when no other thread can exit the process any more.
  void set_exit_started() noexcept { exit_has_started_ = true; }
  [[nodiscard]] bool exit_has_started() const noexcept { return exit_has_started_; }
  [[nodiscard]] bool waits_for_devices() const noexcept { return !skips_devices_; }
  void stop_waiting_for_devices() noexcept { skips_devices_ = true; }
  // Returns true if one more timeout may be spent on destructors that other threads have deferred.
  [[nodiscard]] bool has_time_for_other_threads() noexcept {
    return spend_on_other_threads(stall_timeout);
  }
  // Called when all tasks of other threads are done; `after` is the time since the last timeout.
  // Their drain counts against the limit only if the budget is used up.
  void other_threads_are_done(std::chrono::steady_clock::duration after) noexcept {
    if (spend_on_other_threads(std::max<std::chrono::steady_clock::duration>(after, min_charge)))
      ++remaining_drains_;
  }

  // Called from any thread that has deferred a task. Returns true if another drain must be
  // scheduled, before older statics are destroyed. Other threads may defer tasks without end, so
  // they get a limited number of drains. The last drain covers what they defer later.
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
  // Charged for a drain that takes no time, since other threads may cause any number of them.
  static constexpr std::chrono::milliseconds min_charge{1};

  bool spend_on_other_threads(std::chrono::steady_clock::duration time) noexcept {
    time_for_other_threads_ -= time;
    return time_for_other_threads_ > std::chrono::steady_clock::duration::zero();
  }

  std::atomic<bool> exit_has_started_{false};
  std::atomic<bool> skips_devices_{false};
  // True at first: starting the reclaimer thread schedules a drain.
  std::atomic<bool> requested_{true};
  std::atomic<std::thread::id> thread_{};
  std::atomic<int> remaining_drains_{8};

  // Used by the exiting thread only.
  bool own_drain_due_ = true;
  bool own_requested_ = true;  // as requested_, for the exiting thread
  std::chrono::steady_clock::duration time_for_other_threads_ = std::chrono::seconds{2};
};

}  // namespace weir::detail
