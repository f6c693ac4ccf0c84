// SPDX-License-Identifier: Apache-2.0
// api/deferred/reclaimer.cpp - the reclaimer thread, which runs deferred tasks.
#include "api/deferred/reclaimer.hpp"

#include "api/capture/capture_checks.hpp"
#include "api/capture/capture_registry.hpp"
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

// The interval between retries of tasks that cannot be done yet. It starts at the minimum and
// doubles up to the maximum.
constexpr microseconds min_delay{50};
constexpr microseconds max_delay{5000};

// Lets the reclaimer thread make calls during captures. Its frees and event queries harm no
// capture, but the driver refuses them in other modes, and captures started directly through the
// driver cannot be waited for.
void relax_capture_mode() noexcept {
  const driver_table* const calls = try_driver();
  if (calls == nullptr) return;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  report_if_failed(calls->cuThreadExchangeStreamCaptureMode(&mode),
                   "cuThreadExchangeStreamCaptureMode", {});
}

// Destroyed before any static if a task calls exit() on the reclaimer thread. Stops all rounds,
// since a static's destructor may join a thread that waits for one. If another thread is already
// exiting the process, leaves the exit to that thread.
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
  // Never destroyed: destructors of statics defer tasks, and the thread uses it until the process
  // ends.
  static reclaimer& instance() noexcept {
    static never_destroyed<reclaimer> singleton;
    return *singleton;
  }

  void defer(deferred_task& task) noexcept {
    if (is_reclaimer_thread()) return epochs_.defer_from_task(task);
    const bool first = epochs_.defer(task);
    // The task stays in the queue, since the child has no reclaimer thread.
    if (in_forked_child()) return;
    // Only the first task of a burst pays for waking the thread. While there is no thread, each
    // task tries to start it.
    if (first || thread_.load(std::memory_order_relaxed) == std::thread::id{}) wake();
    // Statics that are destroyed after the drain at exit defer further tasks, which get a drain of
    // their own.
    if (exit_.needs_another_drain()) schedule_exit_drain();
  }

  [[nodiscard]] std::size_t unfinished() const noexcept {
    return in_forked_child() || epochs_.is_stopped() ? 0 : epochs_.unfinished();
  }

  // Waits until all tasks deferred so far, and the tasks that these defer, are done. Does not wait
  // for tasks that wait for a capture.
  void drain() noexcept {
    if (nothing_to_drain()) return;
    if (!start()) return;
    std::unique_lock lock{epochs_.mutex()};
    const epoch target_epoch = begin_round();
    epochs_.progress().wait(lock, [&] { return epochs_.has_finished(target_epoch); });
  }

  // Like drain(), but gives up on tasks that wait longer than exit_policy allows.
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

  // If this is exit(), handlers registered with std::atexit() from here on run before all
  // destructors of statics. If exit() was called on the reclaimer thread, waits here: that thread
  // goes on to destroy statics, and no other thread may.
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

  // Called on the exiting thread. Makes tasks that exit no longer waits for run no destructors of
  // the program later, since these could use statics that are being destroyed.
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
  // Returns true if the reclaimer thread has made no progress since give_up(). Called on the
  // exiting thread.
  [[nodiscard]] bool is_still_stalled() noexcept {
    if (!stalled_step_) return false;
    if (epochs_.step() == *stalled_step_) return true;
    stalled_step_.reset();
    driver_is_blocked = false;
    return false;
  }

  // Requires the lock.
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

  // Starts the thread if it does not run yet. Returns true if it runs.
  bool start() noexcept {
    {
      const std::lock_guard hold{epochs_.mutex()};
      if (started_) return true;
      try {
        const signal_blocker none_here;
        std::thread{[this] { run(); }}.detach();
        started_ = true;
      } catch (...) {
        // There is no thread, or no memory for one. The tasks stay in the queue, and the next one
        // tries again.
        return false;
      }
    }
    // Called without the lock: a thread that forks may hold the lock of atexit() and wait for this
    // thread.
    schedule_exit_drain();
    return true;
  }

  void run() {
    // Set here, because a task may read it before the starting thread continues.
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

  // Sleeps until there is work. While tasks wait, sleeps at most for the delay.
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
  std::condition_variable work_available_;  // used with the mutex of epochs_
  bool started_ = false;                    // guarded by that mutex
  // The reclaimer thread's step when exit gave up. Used by the exiting thread only.
  std::optional<std::uint64_t> stalled_step_;
};

// Destroyed by exit() on the main thread, before any static. Some C libraries also destroy it when
// the main thread ends.
struct main_thread_exit_sentinel {
  main_thread_exit_sentinel() = default;
  main_thread_exit_sentinel(const main_thread_exit_sentinel&) = delete;
  main_thread_exit_sentinel& operator=(const main_thread_exit_sentinel&) = delete;
  ~main_thread_exit_sentinel() {
    if (!in_forked_child()) reclaimer::instance().exit_may_have_started();
  }
};

// Runs after all handlers registered with std::atexit() and after the destructors of statics.
[[gnu::destructor]] void drain_after_statics() noexcept {
  if (!in_forked_child()) reclaimer::instance().drain_at_exit();
}

}  // namespace

void defer_task(deferred_task& task) noexcept {
  task.runs_user_code = false;
  reclaimer::instance().defer(task);
}

void defer_user_destructor(deferred_task& task) noexcept {
  task.runs_user_code = true;
  reclaimer::instance().defer(task);
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
