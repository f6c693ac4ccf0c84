// api/reclaimer.cpp - weir's own thread.
#include "api/reclaimer.hpp"

#include "api/captures.hpp"
#include "api/chore_rounds.hpp"
#include "api/device_call.hpp"
#include "api/exit_wait.hpp"
#include "api/guard.hpp"
#include "api/never_destroyed.hpp"
#include "driver/at_exit.hpp"
#include "driver/forked_child.hpp"
#include "driver/signals_blocked.hpp"

#include <weir/deferred.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace weir {
namespace detail {
namespace {

using std::chrono::microseconds;

// How often chores that cannot be done yet are asked again: at first soon, then less and less often.
constexpr microseconds shortest_pause{50};
constexpr microseconds longest_pause{5000};

// What weir's thread frees, and the events that it asks for, harm no capture; but a driver holds that they might, and
// captures that were begun past weir cannot be waited for.
void say_that_captures_are_safe() noexcept {
  const driver_table* const calls = driver_if_any();
  if (calls == nullptr) return;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  check_unraised(calls->cuThreadExchangeStreamCaptureMode(&mode), "cuThreadExchangeStreamCaptureMode", {});
}

class reclaimer {
 public:
  // Chores come while statics are destroyed, and the thread looks at it until the process is gone.
  static reclaimer& instance() noexcept {
    static never_destroyed<reclaimer> the_one;
    return *the_one;
  }

  void leave(chore& what) noexcept {
    if (is_this_thread()) return rounds_.leave_within(what);
    exit_.go_on();
    const bool first = rounds_.leave(what);
    if (in_forked_child()) return;  // where it stays, as the thread stayed in the parent
    // Only the first of a burst pays for waking the thread; while there is none, each tries to start it.
    if (first || thread_.load(std::memory_order_relaxed) == std::thread::id{}) wake();
    // Statics that are destroyed after the drain at exit leave further ones: they get a drain of their own.
    if (exit_.wants_drain()) have_exit_drain();
  }

  [[nodiscard]] std::size_t unfinished() const noexcept { return in_forked_child() ? 0 : rounds_.unfinished(); }

  // Waits until all that has been left so far, with what that leaves, is done but for what waits for a capture.
  void drain() noexcept {
    if (is_needless()) return;
    std::unique_lock lock{rounds_.lock()};
    if (!start_thread()) return;
    const epoch mine = begin_round();
    rounds_.told().wait(lock, [&] { return rounds_.has_done(mine); });
  }

  // The same but for what waits for a device longer than exit has patience, for any reason.
  void drain_at_exit() noexcept {
    const bool for_own = exit_.begin();
    if (is_needless() || exit_.has_given_up(rounds_.step())) return;
    std::unique_lock lock{rounds_.lock()};
    if (!start_thread()) return;
    const epoch mine = begin_round();
    while (exit_.has_patience()) {
      const auto end = exit_.end(rounds_.end_of_program());
      if (rounds_.told().wait_until(lock, end, [&] { return rounds_.has_done(mine); })) return;
      if (!for_own) return;
      if (exit_.end(rounds_.end_of_program()) <= end) exit_.lose_patience();
    }
    if (!for_own) return;
    for (std::uint64_t seen = rounds_.step(); !rounds_.has_run(mine); seen = rounds_.step()) {
      const bool in_time = rounds_.told().wait_for(lock, exit_wait::patience) == std::cv_status::no_timeout;
      if (in_time || seen % 2 == 0 || seen != rounds_.step()) continue;
      exit_.give_up(seen);
      return;
    }
  }

  [[nodiscard]] bool is_this_thread() const noexcept {
    return std::this_thread::get_id() == thread_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] bool may_wait_for_device() const noexcept {
    return !is_this_thread() || exit_.has_time_for_devices(rounds_.end_of_program());
  }

 private:
  using epoch = chore_rounds::epoch;

  [[nodiscard]] bool is_needless() const noexcept { return in_forked_child() || is_this_thread() || unfinished() == 0; }

  // With the lock held.
  epoch begin_round() noexcept {
    work_.notify_one();
    return rounds_.end_epoch();
  }

  void wake() noexcept {
    const std::lock_guard lock{rounds_.lock()};
    if (start_thread()) work_.notify_one();
  }

  static void have_exit_drain() noexcept {
    call_at_exit([] { instance().drain_at_exit(); });
  }

  // With the lock held.
  bool start_thread() noexcept {
    if (started_) return true;
    try {
      const signals_blocked none_here;
      std::thread{[this] { run(); }}.detach();
      started_ = true;
      have_exit_drain();
    } catch (...) {
      // No thread, or no memory for one. The chores stay in the queue, and the next one tries again.
    }
    return started_;
  }

  void run() {
    // Set here: a chore may ask for it before the thread that started this one goes on.
    thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    rounds_.make([] { return say_that_captures_are_safe(), true; });
    microseconds pause = shortest_pause;
    for (;;) {
      const chore_rounds::round last = rounds_.run([] { return captures_open() && drop_ended_captures(); });
      if (!last.in_vain) sleep(last, pause);
    }
  }

  // Until there is something new, or, while something waits, for a pause.
  void sleep(const chore_rounds::round& last, microseconds& pause) {
    std::unique_lock lock{rounds_.lock()};
    rounds_.end(last);
    const auto called = [&] { return rounds_.wants_another(last); };
    if (last.busy + last.captured == 0) {
      work_.wait(lock, called);
    } else if (work_.wait_for(lock, pause, called)) {
      pause = shortest_pause;
    } else {
      pause = std::min(2 * pause, longest_pause);
    }
  }

  chore_rounds rounds_;
  exit_wait exit_;
  std::atomic<std::thread::id> thread_{};
  std::condition_variable work_;  // with the rounds' lock
  bool started_ = false;          // under it
};

}  // namespace

void leave_chore(chore& what) noexcept {
  what.of_program = false;
  reclaimer::instance().leave(what);
}

void leave_program_chore(chore& what) noexcept {
  what.of_program = true;
  reclaimer::instance().leave(what);
}

bool may_wait_for_device() noexcept { return reclaimer::instance().may_wait_for_device(); }

device_wait::device_wait() noexcept : on_weirs_thread_{reclaimer::instance().is_this_thread()} {
  if (on_weirs_thread_) driver_is_held_up.store(true, std::memory_order_relaxed);
}

device_wait::~device_wait() {
  if (on_weirs_thread_) driver_is_held_up.store(false, std::memory_order_relaxed);
}

}  // namespace detail

std::size_t deferred_count() noexcept { return detail::reclaimer::instance().unfinished(); }

void drain_deferred() noexcept {
  if (!detail::inside_host_function) detail::reclaimer::instance().drain();
}

}  // namespace weir
