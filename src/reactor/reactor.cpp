// SPDX-License-Identifier: Apache-2.0
// reactor/reactor.cpp - polls queues and notifies waiters, on any thread that drives.
#include "reactor/reactor.hpp"

#include "driver/engine_services.hpp"
#include "os/clock.hpp"
#include "os/forked_child.hpp"
#include "os/futex.hpp"
#include "os/poll_until.hpp"
#include "reactor/completion_queue_pool.hpp"
#include "reactor/run_loop.hpp"
#include "reactor/thread_reactors.hpp"

#include <weir/detail/duration.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <mutex>
#include <new>

namespace weir::detail {
namespace {

constexpr std::size_t max_devices = 256;  // no machine has as many

// Never destroyed: threads of the engine and of the program may use them until the process ends.
constinit std::array<std::atomic<reactor*>, max_devices> reactors{};

constinit std::atomic<bool> all_stopped{false};

// The queues that lost their last waiter in one pass of a reactor. reclaim() is called for them
// after all waiters have been notified, because it takes a microsecond to destroy an event that has
// failed.
class retired_queues {
 public:
  retired_queues() noexcept = default;
  retired_queues(const retired_queues&) = delete;
  retired_queues& operator=(const retired_queues&) = delete;
  ~retired_queues() { reclaim(); }
  void add(completion_queue& queue) noexcept {
    if (count_ == queues_.size()) reclaim();
    queues_[count_++] = &queue;
  }

 private:
  void reclaim() noexcept {
    for (; count_ != 0; --count_) queues_[count_ - 1]->reclaim();
  }

  // Has room for more queues than usually have waiters at a time.
  std::array<completion_queue*, 64> queues_;
  std::size_t count_ = 0;
};

}  // namespace

reactor& reactor::for_device(int device) {
  std::atomic<reactor*>& slot = reactors[static_cast<std::size_t>(device) % max_devices];
  if (reactor* const existing = slot.load(std::memory_order_acquire)) return *existing;
  auto* const created = new reactor{device};
  reactor* previous = nullptr;
  if (!slot.compare_exchange_strong(previous, created, std::memory_order_acq_rel)) {
    delete created;
    return *previous;
  }
  if (const engine_services* const services = embedded_services.load())
    services->on_failure(&reactor::on_device_failed);
  return *created;
}

reactor& reactor::existing_for_device(int device) noexcept {
  return *reactors[static_cast<std::size_t>(device)].load(std::memory_order_acquire);
}

void reactor::on_device_failed() noexcept {
  for (completion_queue* queue = newest_queue(); queue != nullptr; queue = queue->older())
    queue->poll_engine();
}

void reactor::add_queue(completion_queue& queue) noexcept {
  completion_queue* head = new_queues_.load(std::memory_order_relaxed);
  do {
    queue.next = head;
  } while (!new_queues_.compare_exchange_weak(head, &queue, std::memory_order_release,
                                              std::memory_order_relaxed));
  if (demand_.load() != 0) signal();  // else a run loop polls, or adjust_demand() will signal
}

void reactor::adjust_demand(int change) noexcept {
  const int previous = demand_.fetch_add(change);
  if (previous == 0 && change > 0) signal();
}

void reactor::adjust_sleeping_demand(int change) noexcept {
  const int previous = sleepers_.fetch_add(change);
  adjust_demand(change);
  if (previous == 0 && change > 0) signal();
}

void reactor::add_poller() noexcept {
  all_pollers.add();
  pollers_.fetch_add(1);
  if (!os::in_forked_child()) {  // in the child, threads that do not exist may hold the locks
    // The reactor's thread checks for pollers with one of these locks held. After each lock was
    // acquired here once, that thread sees the poller before it runs another continuation.
    { const std::lock_guard lock{poll_lock_}; }
    { const std::lock_guard lock{due_lock_}; }
  }
  this_thread_reactors().add(device_);
}

void reactor::remove_poller() noexcept {
  if (pollers_.fetch_sub(1) == 1) signal();
  all_pollers.remove();
}

std::size_t reactor::poll() noexcept {
  this_thread_reactors().add(device_);
  return run_once(caller_kind::poller);
}

bool reactor::this_thread_must_drive() noexcept {
  return current() != nullptr || this_thread_reactors().devices() != 0 || all_stopped.load();
}

// Wakes the reactor's thread. That thread sets asleep_ before it checks signals_ for the last time,
// so no signal is lost.
void reactor::signal() noexcept {
  signals_.fetch_add(1);
  if (asleep_.load() != 0) os::futex_wake(signals_, 1);
}

// Notifies the waiter and returns true. Returns false if the caller may not run the waiter's
// continuation, so that another thread has to.
bool reactor::notify(completion_waiter& waiter, caller_kind caller) noexcept {
  if (waiter.loop != nullptr) {
    if (run_loop::post(waiter, *this)) return true;
    waiter.loop = nullptr;
  }
  if (caller != caller_kind::poller && waiter.policy != resume_policy::any_thread) return false;
  // Counts as outside of the reactor while the program's code runs: stop_all() must not wait for
  // that code.
  reactor* const own = current();
  const bool was_outside = own != nullptr && own->is_outside_reactor_.exchange(true);
  waiter.on_complete(waiter, waiter.outcome);
  if (own != nullptr) own->is_outside_reactor_.store(was_outside);
  return true;
}

void reactor::defer_to_thread(waiter_list& deferred) noexcept {
  if (deferred.empty()) return;
  {
    const std::lock_guard hold{due_lock_};
    while (completion_waiter* const next = deferred.pop()) ready_waiters_.append(*next);
    any_due_.store(true);
  }
  if (!has_pollers())
    signal();  // else a poller takes them, and the last poller signals when it ends
}

void reactor::deliver(waiter_list& ready_waiters) noexcept {
  waiter_list deferred;
  while (completion_waiter* const next = ready_waiters.pop()) {
    if (!notify(*next, caller_kind::other)) deferred.append(*next);
  }
  defer_to_thread(deferred);
}

void reactor::deliver(completion_waiter& ready_waiter) noexcept {
  waiter_list ready_waiters;
  ready_waiters.append(ready_waiter);
  deliver(ready_waiters);
}

// Notifies the waiters on this thread, which may run the program's code. If the process ends
// meanwhile, leaves the rest to other threads. Returns how many were notified.
std::size_t reactor::run_continuations(waiter_list& waiters) noexcept {
  std::size_t notified = 0;
  while (!waiters.empty() && !is_stopped_on_this_thread()) {
    static_cast<void>(notify(*waiters.pop(), caller_kind::poller));
    ++notified;
  }
  defer_to_thread(waiters);
  return notified;
}

// Notifies the waiters that other threads have left in ready_waiters_.
std::size_t reactor::notify_due(caller_kind caller) noexcept {
  std::size_t notified = 0;
  // Repeated until none is left, because defer_to_thread() does not signal while there are pollers.
  while (any_due_.load() && !is_stopped_on_this_thread()) {
    waiter_list ready_waiters;
    {
      const std::lock_guard hold{due_lock_};
      if (caller == caller_kind::reactor_thread && has_pollers()) break;
      ready_waiters = ready_waiters_;
      ready_waiters_ = {};
      any_due_.store(false, std::memory_order_relaxed);
    }
    notified += run_continuations(ready_waiters);
  }
  return notified;
}

std::size_t reactor::fire_timers() noexcept {
  if (timers_.earliest() == timer_queue::never) return 0;
  std::size_t notified = 0;
  while (wait_timer* const next = timers_.pop_expired(os::steady_nanoseconds())) {
    next->on_expired(*next);
    ++notified;
  }
  return notified;
}

void reactor::add_timer(wait_timer& timer, long long deadline) {
  if (timers_.add(timer, deadline)) signal();
}

// Moves the queues that add_queue() has added to queues_. The caller holds poll_lock_.
void reactor::take_new_queues() noexcept {
  if (new_queues_.load(std::memory_order_relaxed) == nullptr) return;  // saves the exchange
  completion_queue* added = new_queues_.exchange(nullptr, std::memory_order_acquire);
  while (added != nullptr) {
    completion_queue* const following = added->next;  // append() overwrites added->next
    queues_.append(*added);
    ++queue_count_;
    added = following;
  }
}

// Polls each queue once. poll_lock_ is released before waiters are notified, since their
// continuations may call the reactor. After a queue has failed, all queues are polled again before
// any is reclaimed: a queue that was polled before may have failed, too.
std::size_t reactor::poll_queues(caller_kind caller) noexcept {
  std::size_t notified = 0;
  std::size_t visited = 0;
  retired_queues retired;
  bool may_resume = false;
  for (bool more = true; more;) {
    waiter_list ready_waiters;
    completion_queue* unawaited = nullptr;
    {
      const std::unique_lock poll_lock{poll_lock_, std::try_to_lock};
      if (!poll_lock.owns_lock() || is_stopped_on_this_thread()) return notified;
      may_resume = caller == caller_kind::poller ||
                   (caller == caller_kind::reactor_thread && !has_pollers());
      take_new_queues();
      while (ready_waiters.empty() && unawaited == nullptr && visited < queue_count_) {
        completion_queue& queue = *queues_.pop();
        queue.poll(ready_waiters);
        if (queue.leave_if_no_waiters()) {
          --queue_count_;
          unawaited = &queue;
          if (queue.failed()) visited = 0;
        } else {
          queues_.append(queue);
          ++visited;
        }
      }
      more = !ready_waiters.empty() || unawaited != nullptr;
      if (!more) last_poll_count_.store(static_cast<long long>(visited), std::memory_order_relaxed);
    }
    // Sleeping threads are notified before any continuation runs. A continuation may end the
    // process, which joins such threads.
    waiter_list deferred;
    while (completion_waiter* const next = ready_waiters.pop()) {
      ++notified;
      if (!notify(*next, caller_kind::other)) deferred.append(*next);
    }
    if (may_resume) {
      run_continuations(deferred);
    } else {
      defer_to_thread(deferred);
    }
    if (unawaited != nullptr) retired.add(*unawaited);
  }
  return notified;
}

std::size_t reactor::run_once(caller_kind caller) noexcept {
  if (os::in_forked_child()) return 0;
  std::size_t notified = poll_queues(caller) + fire_timers();
  if (caller != caller_kind::other) notified += notify_due(caller);
  return notified;
}

// A reactor's thread drives its own reactor. A thread of the program drives the reactors for which
// it polls (thread_reactors.hpp). At the end of the process it drives all reactors instead, because
// a coroutine may wait with any of them.
void reactor::run_once_for_this_thread() noexcept {
  reactor* const own = current();
  if (own != nullptr) {
    static_cast<void>(own->run_once(caller_kind::reactor_thread));
  } else if (all_stopped.load()) {
    for (const std::atomic<reactor*>& slot : reactors) {
      if (reactor* const each = slot.load(std::memory_order_acquire))
        static_cast<void>(each->run_once(caller_kind::poller));
    }
    return;
  }
  for (std::uint64_t left = this_thread_reactors().devices(); left != 0; left &= left - 1)
    static_cast<void>(existing_for_device(std::countr_zero(left)).run_once(caller_kind::poller));
}

// Returns true on a reactor's thread while statics are destroyed. From then on only threads of the
// program that still wait run continuations.
bool reactor::is_stopped_on_this_thread() const noexcept {
  return stopped_.load() && current() != nullptr;
}

// Called at the end of the process: tells the reactors' threads to end. Waits until each of them
// has ended, sleeps, or runs the program's code, which may never return. A reactor's thread that
// calls this does not wait.
void reactor::stop_all() noexcept {
  if (os::in_forked_child()) return;
  all_stopped.store(true);
  for (const std::atomic<reactor*>& slot : reactors) {
    reactor* const each = slot.load(std::memory_order_acquire);
    if (each == nullptr) continue;
    each->stopped_.store(true);
    each->fault_monitor_.shut_down();
    each->signal();
    if (current() != nullptr) continue;
    constexpr bool inside = true;
    static_cast<void>(
        os::poll_until(forever, inside, [each] { return !each->is_outside_reactor_; }));
  }
  sleeping_thread::wake_all();
}

bool reactor::is_idle() const noexcept {
  return demand_.load() == 0 && !any_due_.load() && timers_.earliest() == timer_queue::never;
}

}  // namespace weir::detail
