// SPDX-License-Identifier: Apache-2.0
// api/deferred/reclaimer.cpp - the reclaimer thread, which runs deferred tasks.
#include "api/deferred/reclaimer.hpp"

#include "api/capture/capture_checks.hpp"
#include "api/capture/capture_registry.hpp"
#include "api/core/call_restrictions.hpp"
#include "api/core/never_destroyed.hpp"
#include "api/deferred/task_queue.hpp"
#include "api/device/device_wait.hpp"
#include "driver/engine_services.hpp"
#include "driver/relaxed_thread_mode.hpp"
#include "os/at_exit.hpp"
#include "os/forked_child.hpp"
#include "os/signal_blocker.hpp"

#include <weir/core/deferred.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace weir {
namespace detail {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

// How long exit waits for deferred tasks.
constexpr std::chrono::seconds exit_timeout{1};

// The interval between retries of tasks that cannot be done yet. It starts at the minimum and
// doubles up to the maximum.
constexpr microseconds min_delay{50};
constexpr microseconds max_delay{5000};

// Switches the reclaimer thread to relaxed capture mode. In other modes the driver refuses its
// frees and event queries during captures, although they affect no capture. The thread cannot wait
// for the end of captures that were started directly through the driver, because weir does not know
// them.
void relax_capture_mode() noexcept {
  const driver_table* const calls = try_driver();
  if (calls == nullptr) return;
  relaxed_thread_mode mode{*calls};
  mode.keep();
  report_if_failed(mode.answer(), "cuThreadExchangeStreamCaptureMode", {});
}

// The queue of deferred tasks and the thread that runs them.
//
// The thread runs tasks in passes. A pass runs each task that was deferred before the pass began
// once, the oldest first. If a running task defers other tasks, these run directly after it.
class reclaimer {
 public:
  // The reclaimer is never destroyed, because destructors of statics defer tasks and the thread
  // uses it until the process ends.
  static reclaimer& instance() noexcept {
    static never_destroyed<reclaimer> singleton;
    return *singleton;
  }

  void defer(deferred_task& task) noexcept {
    unfinished_.fetch_add(1, std::memory_order_relaxed);
    if (is_reclaimer_thread()) {
      task.epoch = running_epoch_ & epoch_mask;
      return nested_.append(task);
    }
    task.epoch = epoch_.load(std::memory_order_acquire) & epoch_mask;
    const bool first = queue_.push(task);
    // A task of a forked child, which has no reclaimer thread, stays in the queue forever. So does
    // a task that is added after exit() has stopped the thread.
    if (os::in_forked_child() || stopped_) return;
    // Only a task that is added to an empty queue wakes the thread. If the thread does not run,
    // each task tries to start it.
    if ((first || !has_thread()) && start()) work_available_.notify_one();
    if (const deterministic_services* const steps = active_deterministic_services();
        steps != nullptr && has_thread())
      steps->request_turn();
  }

  // Returns the number of tasks that are not done. Returns 0 if no thread will run them.
  [[nodiscard]] std::size_t unfinished() const noexcept {
    return os::in_forked_child() || stopped_ ? 0 : unfinished_.load(std::memory_order_acquire);
  }

  // Waits until all tasks deferred so far, and the tasks that they defer, are done. Does not wait
  // for tasks whose last result was capture_active. Returns at once on the reclaimer thread, and if
  // there is no such thread.
  void drain() noexcept {
    if (is_reclaimer_thread() || unfinished() == 0 || !start()) return;
    std::unique_lock lock{mutex_};
    const auto is_over = [this, last = end_epoch()] { return is_drained(last); };
    run_turns(lock, is_over, steady_clock::time_point::max());
    progress_.wait(lock, is_over);
  }

  // Called when the process exits, before statics are destroyed if possible. Waits for tasks until
  // exit_timeout, unless the reclaimer thread exits the process. Then stops the thread, because it
  // must not use statics that are destroyed, and waits for the end of a destructor of the program.
  void exit() noexcept {
    if (os::in_forked_child()) return;
    const bool drains = !is_reclaimer_thread() && unfinished() != 0 && start();
    std::unique_lock lock{mutex_};
    if (std::exchange(exiting_, true)) return;
    const auto is_over = [this, last = end_epoch()] { return is_drained(last); };
    const auto deadline = steady_clock::now() + exit_timeout;
    if (drains) run_turns(lock, is_over, deadline);
    if (drains && !progress_.wait_until(lock, deadline, is_over))
      driver_is_blocked = true;  // destructors of statics do not wait for the call in progress
    stopped_ = true;
    progress_.notify_all();
    progress_.wait(lock, [this] { return !in_user_code_; });
  }

  [[nodiscard]] bool has_thread() const noexcept {
    return thread_.load(std::memory_order_relaxed) != std::thread::id{};
  }

  // Called on the reclaimer thread and on the main thread. If such a thread calls std::exit(),
  // begin_exit() runs on it before any static is destroyed.
  static void watch_exit() noexcept {
    static constexpr auto begin_exit = [](reclaimer* self) { self->begin_exit(); };
    static thread_local const std::unique_ptr<reclaimer, decltype(begin_exit)> watcher{&instance()};
  }

  [[nodiscard]] bool is_reclaimer_thread() const noexcept {
    return std::this_thread::get_id() == thread_.load(std::memory_order_relaxed);
  }

 private:
  // The number of an epoch. Each drain ends the current epoch and waits for the tasks that were
  // deferred in it or earlier.
  using epoch = unsigned long long;
  static constexpr epoch epoch_mask = ~epoch{0} >> 1U;
  static constexpr epoch no_epoch = std::numeric_limits<epoch>::max();

  // Called on a thread that has called watch_exit(): by std::exit() before it destroys statics, or
  // by pthread_exit().
  void begin_exit() noexcept {
    if (os::in_forked_child()) return;
    {
      std::unique_lock lock{mutex_};
      if (is_reclaimer_thread()) in_user_code_ = false;  // a destructor called exit()
      progress_.notify_all();
      // If another thread is destroying the statics, waits until the process ends.
      while (exiting_) work_available_.wait(lock);
    }
    register_exit();
  }
  // During std::exit(), the registered function runs next.
  static void register_exit() noexcept {
    os::register_at_exit([] { instance().exit(); });
  }

  // Ends the current epoch and returns its number. The caller holds mutex_.
  [[nodiscard]] epoch end_epoch() noexcept {
    work_available_.notify_one();
    return epoch_.fetch_add(1, std::memory_order_release);
  }
  // Returns true if all tasks of epoch `last` and of earlier epochs are done or wait for a capture,
  // or if the thread was stopped. The caller holds mutex_.
  [[nodiscard]] bool is_drained(epoch last) const noexcept {
    return done_through_ >= last || stopped_;
  }

  // Under a deterministic schedule, gives the thread turns until `is_over` returns true, and runs
  // the operations for which its tasks wait. `lock` holds mutex_.
  template <class Condition>
  void run_turns(std::unique_lock<std::mutex>& lock, const Condition& is_over,
                 steady_clock::time_point deadline) noexcept {
    const deterministic_services* const steps = active_deterministic_services();
    if (steps == nullptr) return;
    for (bool is_first = true; !is_over() && steady_clock::now() < deadline; is_first = false) {
      lock.unlock();
      if (!is_first) steps->run_operation();
      steps->request_turn();
      steps->give_turn();
      lock.lock();
    }
  }

  // Starts the thread if it does not run yet. Returns true if it runs.
  bool start() noexcept {
    {
      const std::lock_guard hold{mutex_};
      if (has_thread()) return true;
      try {
        const os::signal_blocker none_here;
        std::thread started{[this] { run(); }};
        thread_ = started.get_id();  // set before begin() of the first task, which locks mutex_
        started.detach();
      } catch (...) {
        return false;  // no memory for a thread: the next task tries again
      }
    }
    // Called without mutex_. A thread that forks may hold the lock of atexit() while it waits for
    // mutex_.
    register_exit();
    return true;
  }

  void run() {
    watch_exit();
    relax_capture_mode();
    for (microseconds delay = min_delay;;) {
      if (const deterministic_services* const steps = active_deterministic_services())
        steps->take_turn();
      const epoch end = epoch_.load(std::memory_order_acquire);
      run_pass();
      end_pass(end, delay);
    }
  }

  // Sleeps until there is work. Under a deterministic schedule, run() sleeps until the next turn.
  void end_pass(epoch end, microseconds& delay) {
    const deterministic_services* const steps = active_deterministic_services();
    if (steps == nullptr) return sleep(end, delay);
    const std::lock_guard hold{mutex_};
    publish(end - 1);
    // A wait in the middle of the pass may have used up the request of a task that was added then.
    if (!retry_.empty() || !queue_.empty()) steps->request_turn();
  }

  void run_pass() noexcept {
    oldest_busy_ = no_epoch;
    checked_captures_ = false;
    task_list tasks = std::exchange(retry_, {});
    tasks.append(queue_.take_all());
    while (!tasks.empty()) {
      run(tasks.pop());
      while (!nested_.empty()) run(nested_.pop());
    }
  }

  void run(deferred_task& task) noexcept {
    running_epoch_ = task.epoch;
    begin(task);
    task_result result = task.runs_user_code ? run_user_destructor(task) : task.run(task);
    // If this is the first task of the pass that waits for a capture, finds out whether captures
    // have ended directly through the driver. Then tries once more.
    if (result == task_result::capture_active && !std::exchange(checked_captures_, true) &&
        any_capture_active() && remove_ended_captures())
      result = task.run(task);
    if (result == task_result::done) {
      unfinished_.fetch_sub(1, std::memory_order_release);
      return;
    }
    if (result == task_result::busy) oldest_busy_ = std::min(oldest_busy_, running_epoch_);
    retry_.append(task);
  }

  // Called before each task. Does not return if exit() has stopped the thread.
  void begin(const deferred_task& task) noexcept {
    std::unique_lock lock{mutex_};
    publish(running_epoch_ - 1);
    work_available_.wait(lock, [this] { return !stopped_; });
    in_user_code_ = task.runs_user_code;
  }

  [[nodiscard]] task_result run_user_destructor(deferred_task& task) noexcept {
    inside_user_destructor = true;
    const task_result result = task.run(task);
    inside_user_destructor = false;
    const std::lock_guard hold{mutex_};
    in_user_code_ = false;
    progress_.notify_all();
    return result;
  }

  // Called when this pass has run all tasks up to epoch `through`. Wakes the threads that wait for
  // these epochs. Stops before the first epoch with a busy task. The caller holds mutex_.
  void publish(epoch through) noexcept {
    through = std::min(through, oldest_busy_ - 1);
    if (through <= done_through_) return;
    done_through_ = through;
    progress_.notify_all();
  }

  // Sleeps until there is a new task or a drain, and resets `delay`. If there are tasks to retry,
  // sleeps at most for `delay` and then doubles it for the next time.
  void sleep(epoch end, microseconds& delay) {
    std::unique_lock lock{mutex_};
    publish(end - 1);
    const auto has_work = [&] { return !queue_.empty() || epoch_ != end; };
    if (retry_.empty()) {
      work_available_.wait(lock, has_work);
      delay = min_delay;
    } else {
      const bool woken = work_available_.wait_for(lock, delay, has_work);
      delay = woken ? min_delay : std::min(2 * delay, max_delay);
    }
  }

  task_queue queue_;
  std::atomic<std::size_t> unfinished_{0};
  std::atomic<epoch> epoch_{1};
  std::atomic<std::thread::id> thread_{};

  // The members from retry_ to checked_captures_ are used by the reclaimer thread only.
  task_list retry_;                // tasks to run again in the next pass
  task_list nested_;               // tasks that the running task has deferred
  epoch running_epoch_ = 0;        // of the running task
  epoch oldest_busy_ = no_epoch;   // lowest epoch of a task that was busy in this pass
  bool checked_captures_ = false;  // true if remove_ended_captures() was called in this pass

  std::mutex mutex_;  // guards the members below; never held while a task runs
  std::condition_variable work_available_;
  std::condition_variable progress_;
  bool exiting_ = false;              // set by exit()
  std::atomic<bool> stopped_{false};  // set by exit(): the thread starts no task any more
  bool in_user_code_ = false;         // true while a destructor of the program runs
  epoch done_through_ = 0;            // see is_drained()
};

[[gnu::constructor]] void watch_exit_after_load() noexcept { watch_exit_of_main_thread(); }

}  // namespace

void watch_exit_of_main_thread() noexcept {
  static thread_local const bool is_main_thread = ::gettid() == ::getpid();
  if (is_main_thread) reclaimer::watch_exit();
}

void defer_task(deferred_task& task) noexcept {
  task.runs_user_code = false;
  reclaimer::instance().defer(task);
}

void defer_user_destructor(deferred_task& task) noexcept {
  task.runs_user_code = true;
  reclaimer::instance().defer(task);
}

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
