// api/deferred/exit_wait.hpp - how long the end of the process waits for what is left to weir's own thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace weir::detail {

// Exit waits as long as weir's thread gets on, and while that ends objects of the program's. Where it does not get on for a
// while, in which devices may come to the end of their work, exit loses patience: nothing is waited for then that waits for
// a device. Where a call of the thread still does not return exit gives that up: whatever it waits for holds the driver up.
// What others leave meanwhile is worth a moment each time, and some more in which objects of the program's are ended.
class exit_wait {
 public:
  static constexpr std::chrono::milliseconds patience{100};
  // For so many moments the thread is at the same call: it may just not have had a processor.
  static constexpr int enough_to_lose_patience = 3;
  static constexpr int enough_to_give_up = 4;

  // On the thread that ends the process, if that is known before the first wait, which then comes with what is left next.
  void may_have_begun() noexcept {
    thread_ = std::this_thread::get_id();
    asked_ = false;
    own_asked_ = false;
  }

  // On that thread, each time that it begins to wait. Is it for what that has left, or for what was left before? If not it is
  // for what others have left meanwhile.
  [[nodiscard]] bool begin() noexcept {
    thread_ = std::this_thread::get_id();
    has_begun_ = true;
    asked_ = false;
    own_asked_ = false;
    return std::exchange(own_is_due_, false);
  }
  // Nobody else may end the process any more.
  void has_begun_now() noexcept { has_begun_ = true; }
  [[nodiscard]] bool has_begun() const noexcept { return has_begun_; }
  [[nodiscard]] bool has_patience() const noexcept { return !in_vain_; }
  void lose_patience() noexcept { in_vain_ = true; }
  // One more moment for objects of the program's that others have left?
  [[nodiscard]] bool has_time_for_others() noexcept { return take_for_others(patience); }
  // All that others had left was done, so long after the last such moment. That counts as one of the few only if they keep
  // exit for long.
  void others_are_done(std::chrono::steady_clock::duration after) noexcept {
    if (take_for_others(std::max<std::chrono::steady_clock::duration>(after, shortest))) ++granted_;
  }

  // From any thread, which has left something: is another wait to be asked for, before statics are destroyed that have been
  // there for longer? Other threads may go on leaving chores for ever, so they are granted a few; the last wait of all is
  // for what they have left after these.
  [[nodiscard]] bool wants_another() noexcept {
    if (std::this_thread::get_id() == thread_) {
      own_is_due_ = true;
      return !std::exchange(own_asked_, true);
    }
    if (asked_ || granted_ <= 0 || asked_.exchange(true)) return false;
    --granted_;
    return true;
  }

 private:
  // Counted for what takes no time, of which others may leave any number.
  static constexpr std::chrono::milliseconds shortest{1};

  bool take_for_others(std::chrono::steady_clock::duration time) noexcept {
    for_others_ -= time;
    return for_others_ > std::chrono::steady_clock::duration::zero();
  }

  std::atomic<bool> has_begun_{false};
  std::atomic<bool> in_vain_{false};
  std::atomic<bool> asked_{true};  // the first one is, with the thread
  std::atomic<std::thread::id> thread_{};
  std::atomic<int> granted_{8};

  // That thread's.
  bool own_is_due_ = true;
  bool own_asked_ = true;  // as asked_
  std::chrono::steady_clock::duration for_others_ = std::chrono::seconds{2};
};

}  // namespace weir::detail
