// SPDX-License-Identifier: Apache-2.0
// reactor/reactor.hpp - polls the pending points of a device and notifies their waiters.
#pragma once

#include "os/forked_child.hpp"
#include "os/futex.hpp"
#include "os/spin_lock.hpp"
#include "reactor/completion_queue.hpp"
#include "reactor/contention_detector.hpp"
#include "reactor/fault_monitor.hpp"
#include "reactor/linked_queue.hpp"
#include "reactor/poll_interval.hpp"
#include "reactor/sleep_predictor.hpp"
#include "reactor/spin_budget.hpp"
#include "reactor/timer_queue.hpp"

#include <weir/detail/completion_waiter.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace weir::detail {

// Says whether the calling thread may run the program's continuations. `poller`, a thread that
// drives in place of the reactor's thread, may. `other`, a thread that only waits, may not, since
// it may hold locks that they take. `reactor_thread` may while there is no poller.
enum class caller_kind : unsigned char { other, poller, reactor_thread };

// Polls the queues of one device that have waiters, and notifies the waiters.
//
// Any thread may drive the reactor with run_once(). A thread in sync_wait() drives it while it
// spins; a thread that blocks for one point then polls only that point. Before a thread sleeps, it
// leaves the polling to the reactor's own thread, which sleeps while no waiter needs it. Queues of
// the embedded driver need no polling: the engine's threads complete them.
//
// There is one reactor for each device; it is never destroyed. Thread safety: all members may be
// called from any thread.
class reactor {
 public:
  // Returns the reactor of a device of the driver in use; creates it at the first call. Throws:
  // std::bad_alloc.
  [[nodiscard]] static reactor& for_device(int device);
  // Returns the reactor of a device for which for_device() was called before.
  [[nodiscard]] static reactor& existing_for_device(int device) noexcept;

  // Returns the reactor whose own thread calls; null for a thread of the program.
  [[nodiscard]] static reactor* current() noexcept;

  // Returns true if the calling thread has to drive while it waits, because no other thread may.
  // This is so on a reactor's own thread, on a thread that polls in its place
  // (thread_reactors.hpp), and at the end of the process.
  [[nodiscard]] static bool this_thread_must_drive() noexcept;
  // Calls run_once() for each reactor that the calling thread has to drive: see
  // this_thread_must_drive().
  static void run_once_for_this_thread() noexcept;

  // Starts the reactor's thread, unless it is running or the process is a forked child. Throws:
  // std::system_error, and what driver() throws.
  void start_thread();

  // Returns true if the reactor's thread polls, continuously or between sleeps: there is demand and
  // no poller, and the thread does not run the program's code.
  [[nodiscard]] bool is_polling() const noexcept {
    return (!is_outside_reactor_.load() || asleep_.load() != 0) && demand_.load() > 0 &&
           !has_pollers();
  }

  // Adds a queue that has got its first waiter.
  void add_queue(completion_queue& queue) noexcept;

  // Wakes the reactor's thread because a point has a waiter and no earlier point of its queue has
  // one. The thread's current sleep may be too long for that point.
  void poll_sooner() noexcept { signal(); }

  // Adds `change` to the demand. It counts what the reactor's thread has to poll for: queues that
  // have waiters without a run loop, run loops that ended before their waiters, and sleeping
  // threads.
  void adjust_demand(int change) noexcept;
  // Like adjust_demand(), for a sleeping thread. The reactor's thread polls for it even while there
  // is a poller, because the poller may itself be the sleeping thread.
  void adjust_sleeping_demand(int change) noexcept;

  // Notifies the waiters in `ready_waiters`. Waiters whose continuation needs a thread that may run
  // the program's code are left to the reactor's thread or a poller.
  void deliver(waiter_list& ready_waiters) noexcept;
  void deliver(completion_waiter& ready_waiter) noexcept;

  // Polls every queue once, unless another thread is polling, and notifies waiters and expired
  // timers. A poller or the reactor's thread also notifies the waiters that deliver() has left.
  // Returns how many waiters and timers were notified. Does nothing in a forked child.
  std::size_t run_once(caller_kind caller) noexcept;

  // Adds a poller (weir::completion_poller): the program then drives the reactor by calls of
  // poll(). While there are pollers, the reactor's thread runs no continuations. The calling thread
  // has to drive the reactor while it blocks.
  void add_poller() noexcept;
  // Removes a poller. Any thread may call it.
  void remove_poller() noexcept;
  // Calls run_once() as a poller. From then on, until the last poller is removed, blocking waits of
  // the calling thread run the reactor, as after add_poller().
  std::size_t poll() noexcept;
  [[nodiscard]] bool has_pollers() const noexcept { return pollers_.load() > 0; }

  // Adds a timer that is notified at `deadline`, in nanoseconds of the steady clock.
  void add_timer(wait_timer& timer, long long deadline);  // throws std::bad_alloc
  // Returns true if the timer was queued and will not be notified.
  bool remove_timer(wait_timer& timer) noexcept { return timers_.remove(timer); }

  // Checks every queue, after the embedded driver's device has failed.
  static void on_device_failed() noexcept;

  // Returns true if no waiter and no timer needs the reactor.
  [[nodiscard]] bool is_idle() const noexcept;

  // How long a thread that waits for this device spins before it sleeps.
  spin_budget budget;
  // The pool of unused queues, as a list. Used by completion_queue_pool.cpp, whose lock guards it.
  completion_queue* spare_queues = nullptr;

 private:
  explicit reactor(int device) noexcept : device_{device} {}
  void signal() noexcept;
  [[nodiscard]] bool notify(completion_waiter& waiter, caller_kind caller) noexcept;
  void defer_to_thread(waiter_list& deferred) noexcept;
  std::size_t run_continuations(waiter_list& waiters) noexcept;
  void take_new_queues() noexcept;
  std::size_t poll_queues(caller_kind caller) noexcept;
  std::size_t notify_due(caller_kind caller) noexcept;
  std::size_t fire_timers() noexcept;
  static void stop_all() noexcept;
  [[nodiscard]] bool is_stopped_on_this_thread() const noexcept;
  void run() noexcept;
  [[nodiscard]] bool update_contention(long long now) noexcept;
  [[nodiscard]] long long next_sleep(long long since, long long now) noexcept;
  static void on_fault(void* self) noexcept;
  void wait_for_work(long long since, std::uint32_t seen) noexcept;

  const int device_;
  // Queues that add_queue() has added and poll_queues() has not yet moved to the list; a stack.
  std::atomic<completion_queue*> new_queues_{nullptr};

  alignas(64) os::spin_lock
      poll_lock_;  // held while a queue is polled, never during a notification
  // Used by the reactor's thread alone, up to long_sleeps_.
  poll_interval poll_interval_;
  contention_detector contention_;
  std::uint64_t activity_epoch_ = 0;  // the epoch of driver_activity.hpp that it began last
  sleep_predictor sleep_predictor_;
  int long_sleeps_ = 0;  // up to poll_policy::long_sleeps_before_watch
  // The queues that have waiters. A queue that was polled goes to the end. Guarded by poll_lock_.
  linked_queue<completion_queue> queues_;
  std::size_t queue_count_ = 0;
  std::atomic<long long> last_poll_count_{0};  // queues polled in the last complete pass

  // The demand: see adjust_demand(). It has a cache line of its own, because all waiters change it,
  // and the reactor's thread reads the other members without pause.
  alignas(64) std::atomic<int> demand_{0};

  alignas(64) os::spin_lock due_lock_;  // guards ready_waiters_
  waiter_list ready_waiters_;           // left to the reactor's thread or a poller
  std::atomic<bool> any_due_{false};    // ready_waiters_ is not empty

  timer_queue timers_;

  fault_monitor fault_monitor_{{&reactor::on_fault, this}};
  std::atomic<long long> fault_alert_until_{0};  // until this time sleeps stay short

  std::atomic<int> sleepers_{0};  // sleeping threads; also part of demand_
  std::atomic<int> pollers_{0};
  std::atomic<std::uint32_t> signals_{0};  // a futex word that signal() changes
  std::atomic<std::uint32_t> asleep_{0};   // 1: the thread sleeps or is about to
  std::atomic<bool> started_{false};
  std::atomic<bool> stopped_{false};            // the thread has to end
  std::atomic<bool> is_outside_reactor_{true};  // the thread runs the program's code, or sleeps
  std::mutex start_lock_;
};

// Registers a futex word on which the calling thread may sleep, for as long as the object exists.
//
// The reactors' threads end while statics are destroyed, and a destructor may join a thread that
// sleeps. wake_all() then adds 2 to each registered word, so that these threads wake and poll. It
// leaves bit 0 unchanged, in which blocking_wait.cpp stores that a point is complete. Objects of a
// forked child are not registered: the list may be inconsistent there and names threads that do not
// exist.
class sleeping_thread {
 public:
  explicit sleeping_thread(std::atomic<std::uint32_t>& word) noexcept
      : word_{word}, listed_{!os::in_forked_child()} {
    if (!listed_) return;
    const std::lock_guard hold{lock};
    next_ = newest;
    if (next_ != nullptr) next_->previous_ = this;
    newest = this;
  }
  sleeping_thread(const sleeping_thread&) = delete;
  sleeping_thread& operator=(const sleeping_thread&) = delete;
  ~sleeping_thread() {
    if (!listed_) return;
    const std::lock_guard hold{lock};
    (previous_ != nullptr ? previous_->next_ : newest) = next_;
    if (next_ != nullptr) next_->previous_ = previous_;
  }

  // Wakes all registered threads. A thread that goes to sleep after this call has to check
  // reactor::this_thread_must_drive() first.
  static void wake_all() noexcept {
    const std::lock_guard hold{lock};
    for (const sleeping_thread* one = newest; one != nullptr; one = one->next_) {
      one->word_.fetch_add(2);
      os::futex_wake(one->word_, 1);
    }
  }

 private:
  static inline constinit os::spin_lock lock;
  // The head of the list. Guarded by `lock`, like next_ and previous_.
  static inline constinit sleeping_thread* newest = nullptr;

  std::atomic<std::uint32_t>& word_;
  const bool listed_;
  sleeping_thread* next_ = nullptr;
  sleeping_thread* previous_ = nullptr;
};

}  // namespace weir::detail
