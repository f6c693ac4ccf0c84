// api/deferred/reclaimer.cpp - weir's own thread.
#include "api/deferred/reclaimer.hpp"

#include "api/capture/captures.hpp"
#include "api/core/call_restrictions.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/deferred/exit_policy.hpp"
#include "api/deferred/task_epochs.hpp"
#include "api/device/device_wait.hpp"
#include "os/at_exit.hpp"
#include "os/forked_child.hpp"
#include "os/signal_blocker.hpp"

#include <weir/core/deferred.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace weir {
namespace detail {
namespace {

using std::chrono::microseconds;

// How often chores that cannot be done yet are asked again: at first soon, then less and less
// often.
constexpr microseconds min_delay{50};
constexpr microseconds max_delay{5000};

// What weir's thread frees, and the events that it asks for, harm no capture; but a driver holds
// that they might, and captures that were started directly through the driver cannot be waited for.
void relax_capture_mode() noexcept {
  const driver_table* const calls = try_driver();
  if (calls == nullptr) return;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  report_if_failed(calls->cuThreadExchangeStreamCaptureMode(&mode),
                   "cuThreadExchangeStreamCaptureMode", {});
}

// Destroyed where exit() is called on weir's thread, by what a chore destroys, before any static:
// nothing more is done, and a static may join a thread that waits for it. Where the process is
// being ended already it is left to whoever does that.
class reclaimer_exit_sentinel {
 public:
  reclaimer_exit_sentinel(task_epochs& epochs, const exit_policy& policy) noexcept
      : epochs_{epochs}, exit_{policy} {}
  reclaimer_exit_sentinel(const reclaimer_exit_sentinel&) = delete;
  reclaimer_exit_sentinel& operator=(const reclaimer_exit_sentinel&) = delete;
  ~reclaimer_exit_sentinel() {
    if (in_forked_child()) return;
    {
      const std::lock_guard hold{epochs_.mutex()};
      epochs_.stop();
    }
    while (exit_.exit_has_started()) ::pause();
  }

 private:
  task_epochs& epochs_;
  const exit_policy& exit_;
};

class reclaimer {
 public:
  // Chores come while statics are destroyed, and the thread looks at it until the process is gone.
  static reclaimer& instance() noexcept {
    static never_destroyed<reclaimer> singleton;
    return *singleton;
  }

  void defer(deferred_task& what) noexcept {
    if (is_reclaimer_thread()) return epochs_.defer_from_task(what);
    const bool first = epochs_.defer(what);
    if (in_forked_child()) return;  // where it stays, as the thread stayed in the parent
    // Only the first of a burst pays for waking the thread; while there is none, each tries to
    // start it.
    if (first || thread_.load(std::memory_order_relaxed) == std::thread::id{}) wake();
    // Statics that are destroyed after the drain at exit leave further ones: they get a drain of
    // their own.
    if (exit_.needs_another_drain()) schedule_exit_drain();
  }

  [[nodiscard]] std::size_t unfinished() const noexcept {
    return in_forked_child() || epochs_.is_stopped() ? 0 : epochs_.unfinished();
  }

  // Waits until all that has been left so far, with what that leaves, is done but for what waits
  // for a capture.
  void drain() noexcept {
    if (nothing_to_drain()) return;
    if (!start()) return;
    std::unique_lock lock{epochs_.mutex()};
    const epoch target_epoch = begin_round();
    epochs_.progress().wait(lock, [&] { return epochs_.has_finished(target_epoch); });
  }

  // The same but for what waits for a device longer than exit has patience, for any reason.
  void drain_at_exit() noexcept {
    const bool is_own_drain = exit_.begin_drain();
    if (nothing_to_drain() || !start()) {
      if (!is_own_drain) exit_.other_threads_are_done({});
      return;
    }
    std::unique_lock lock{epochs_.mutex()};
    epoch target_epoch = begin_round();
    for (; is_still_stalled(); target_epoch = begin_round()) {
      if (give_up(*stalled_step_, target_epoch)) return;
    }
    for (int stalled_waits = 0;;) {
      const bool waits_for_devices = exit_.waits_for_devices();
      const bool only_devices = epochs_.has_run(target_epoch);
      const std::uint64_t last_step = epochs_.step();
      const auto wait_start = std::chrono::steady_clock::now();
      const auto is_over = [&] {
        return waits_for_devices ? epochs_.has_finished(target_epoch)
                                 : epochs_.has_run(target_epoch);
      };
      if (epochs_.progress().wait_for(lock, exit_policy::stall_timeout, is_over)) {
        if (!is_own_drain)
          exit_.other_threads_are_done(std::chrono::steady_clock::now() - wait_start);
        return;
      }
      const bool is_progressing =
          epochs_.is_in_user_code() || (!is_own_drain && !epochs_.is_blocked_in_call(last_step));
      if (!only_devices && is_progressing && (is_own_drain || exit_.has_time_for_other_threads()))
        continue;
      if (!is_own_drain) return abandon_remaining(lock, target_epoch);
      stalled_waits = epochs_.is_blocked_in_call(last_step) ? stalled_waits + 1 : 0;
      if (only_devices || stalled_waits == exit_policy::stalls_before_skipping_devices)
        exit_.stop_waiting_for_devices();
      if (stalled_waits < exit_policy::stalls_before_giving_up) continue;
      if (give_up(last_step, target_epoch)) return;
      stalled_waits = 0;
      target_epoch = begin_round();
    }
  }

  [[nodiscard]] bool is_reclaimer_thread() const noexcept {
    return std::this_thread::get_id() == thread_.load(std::memory_order_relaxed);
  }

  // What is left with std::atexit() now comes before all statics, if this is exit(). Where it was
  // called on weir's thread before that thread goes on to destroy them, and nobody else may.
  void exit_may_have_started() noexcept {
    while (epochs_.is_stopped()) ::pause();
    exit_.exit_may_have_started();
    register_at_exit([] { instance().exit_.set_exit_started(); });
  }

  [[nodiscard]] bool can_wait_for_device() const noexcept {
    return !is_reclaimer_thread() || exit_.waits_for_devices();
  }

 private:
  using epoch = task_epochs::epoch;

  [[nodiscard]] bool nothing_to_drain() const noexcept {
    return in_forked_child() || is_reclaimer_thread() || unfinished() == 0;
  }

  // On the thread that ends the process, as the next two. What it waits for no more must not end
  // objects of the program's later, beside destructors of statics that those may use.
  void abandon_remaining(std::unique_lock<std::mutex>& lock, epoch target_epoch) noexcept {
    if (!epochs_.has_run(target_epoch)) epochs_.suspend_user_tasks(target_epoch);
    while (!epochs_.has_run(target_epoch) && epochs_.is_in_user_code())
      epochs_.progress().wait_for(lock, std::chrono::milliseconds{1});
  }
  bool give_up(std::uint64_t step, epoch target_epoch) noexcept {
    if (!epochs_.suspend_user_tasks_at(step, target_epoch)) return false;
    stalled_step_ = step;
    driver_is_blocked = true;
    return true;
  }
  // Has weir's thread come no further since?
  [[nodiscard]] bool is_still_stalled() noexcept {
    if (!stalled_step_) return false;
    if (epochs_.step() == *stalled_step_) return true;
    stalled_step_.reset();
    driver_is_blocked = false;
    return false;
  }

  // With the lock held.
  epoch begin_round() noexcept {
    work_available_.notify_one();
    return epochs_.end_epoch();
  }

  void wake() noexcept {
    if (start()) work_available_.notify_one();
  }

  static void schedule_exit_drain() noexcept {
    register_at_exit([] { instance().drain_at_exit(); });
  }

  // Begins the thread if it is not there yet. Is it?
  bool start() noexcept {
    {
      const std::lock_guard hold{epochs_.mutex()};
      if (started_) return true;
      try {
        const signal_blocker none_here;
        std::thread{[this] { run(); }}.detach();
        started_ = true;
      } catch (...) {
        // No thread, or no memory for one. The chores stay in the queue, and the next one tries
        // again.
        return false;
      }
    }
    schedule_exit_drain();  // without the lock: where somebody forks, who has the other one may
                            // want this
    return true;
  }

  void run() {
    // Set here: a chore may ask for it before the thread that started this one goes on.
    thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    static thread_local const reclaimer_exit_sentinel end{epochs_, exit_};
    epochs_.run_driver_calls([] { return relax_capture_mode(), true; });
    microseconds delay = min_delay;
    for (;;) {
      const task_epochs::round last =
          epochs_.run([] { return any_capture_active() && remove_ended_captures(); });
      if (!last.must_repeat) sleep(last, delay);
    }
  }

  // Until there is something new, or, while something waits, for a delay.
  void sleep(const task_epochs::round& last, microseconds& delay) {
    std::unique_lock lock{epochs_.mutex()};
    epochs_.finish_round(last);
    const auto has_work = [&] { return epochs_.needs_another_round(last); };
    if (last.busy + last.captured == 0) {
      work_available_.wait(lock, has_work);
      delay = min_delay;
    } else if (work_available_.wait_for(lock, delay, has_work)) {
      delay = min_delay;
    } else {
      delay = std::min(2 * delay, max_delay);
    }
  }

  task_epochs epochs_;
  exit_policy exit_;
  std::atomic<std::thread::id> thread_{};
  std::condition_variable work_available_;  // with the rounds' lock
  bool started_ = false;                    // under it
  std::optional<std::uint64_t>
      stalled_step_;  // that step of weir's thread; of the thread that ends the process
};

// Destroyed on the main thread by exit(), before any static; by some C libraries at its end, too.
struct main_thread_exit_sentinel {
  main_thread_exit_sentinel() = default;
  main_thread_exit_sentinel(const main_thread_exit_sentinel&) = delete;
  main_thread_exit_sentinel& operator=(const main_thread_exit_sentinel&) = delete;
  ~main_thread_exit_sentinel() {
    if (!in_forked_child()) reclaimer::instance().exit_may_have_started();
  }
};

// After all that is left with std::atexit(), and after the destructors of statics.
[[gnu::destructor]] void drain_after_statics() noexcept {
  if (!in_forked_child()) reclaimer::instance().drain_at_exit();
}

}  // namespace

void defer_task(deferred_task& what) noexcept {
  what.runs_user_code = false;
  reclaimer::instance().defer(what);
}

void defer_user_destructor(deferred_task& what) noexcept {
  what.runs_user_code = true;
  reclaimer::instance().defer(what);
}

void install_exit_sentinel() noexcept {
  static thread_local constinit bool is_done = false;
  if (std::exchange(is_done, true) || ::gettid() != ::getpid()) return;
  static thread_local const main_thread_exit_sentinel end;
}

[[gnu::constructor]] static void install_main_thread_exit_sentinel() noexcept {
  install_exit_sentinel();
}

bool can_wait_for_device() noexcept { return reclaimer::instance().can_wait_for_device(); }

device_wait_guard::device_wait_guard() noexcept
    : on_reclaimer_thread_{reclaimer::instance().is_reclaimer_thread()} {
  if (on_reclaimer_thread_) driver_is_blocked.store(true, std::memory_order_relaxed);
}

device_wait_guard::~device_wait_guard() {
  if (on_reclaimer_thread_) driver_is_blocked.store(false, std::memory_order_relaxed);
}

}  // namespace detail

std::size_t deferred_count() noexcept { return detail::reclaimer::instance().unfinished(); }

void drain_deferred() noexcept {
  if (!detail::inside_host_function) detail::reclaimer::instance().drain();
}

}  // namespace weir
