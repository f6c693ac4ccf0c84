// reactor/reactor.cpp - driving: lanes asked, waiters told.
#include "reactor/reactor.hpp"

#include "driver/engine_services.hpp"
#include "os/clock.hpp"
#include "os/forked_child.hpp"
#include "os/futex.hpp"
#include "reactor/retired_queues.hpp"
#include "reactor/run_loop.hpp"
#include "reactor/sleeping_thread.hpp"
#include "reactor/thread_reactors.hpp"

#include <array>
#include <mutex>
#include <new>

namespace weir::detail {
namespace {

constexpr std::size_t max_devices = 256;

// Never destroyed: the engine's threads and the program's may come until the process is gone.
constinit std::array<std::atomic<reactor*>, max_devices> reactors{};

constinit std::atomic<bool> all_stopped{false};

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

void reactor::append(completion_queue& queue) noexcept {
  queue.next = nullptr;
  (last_ != nullptr ? last_->next : first_) = &queue;
  last_ = &queue;
  ++queue_count_;
}

void reactor::add_queue(completion_queue& queue) noexcept {
  completion_queue* head = new_queues_.load(std::memory_order_relaxed);
  do {
    queue.next = head;
  } while (!new_queues_.compare_exchange_weak(head, &queue, std::memory_order_release,
                                              std::memory_order_relaxed));
  if (demand_.load() != 0) signal();  // else a loop asks, or whoever needs the thread says so
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

bool reactor::this_thread_must_drive() noexcept {
  return current() != nullptr || this_thread_reactors().any() || all_stopped.load();
}

// Whoever sleeps has said so before it looked for the last time.
void reactor::signal() noexcept {
  signals_.fetch_add(1);
  if (asleep_.load() != 0) futex_wake(signals_, 1);
}

// True if it was, false if it is left for somebody else.
bool reactor::notify(completion_waiter& waiter, caller_kind caller) noexcept {
  if (waiter.loop != nullptr) {
    if (run_loop::post(waiter, *this)) return true;
    waiter.loop = nullptr;
  }
  if (caller != caller_kind::poller && waiter.policy != resume_policy::any_thread) return false;
  // The process does not wait for the program's code, if it ends meanwhile.
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
    while (completion_waiter* const next = deferred.pop()) due_.append(*next);
    any_due_.store(true);
  }
  if (!has_pollers()) signal();  // else somebody polls, and the last who does signals when it ends
}

void reactor::deliver(waiter_list& due, caller_kind caller) noexcept {
  waiter_list deferred;
  while (completion_waiter* const next = due.pop()) {
    if (!notify(*next, caller)) deferred.append(*next);
  }
  defer_to_thread(deferred);
}

std::size_t reactor::notify_due(caller_kind caller) noexcept {
  std::size_t notified = 0;
  while (
      any_due_.load()) {  // against defer_to_thread(), which does not signal while somebody polls
    waiter_list due;
    {
      const std::lock_guard hold{due_lock_};
      if (caller == caller_kind::reactor_thread && has_pollers()) break;
      due = due_;
      due_ = {};
      any_due_.store(false, std::memory_order_relaxed);
    }
    while (!is_stopped_on_this_thread()) {
      completion_waiter* const next = due.pop();
      if (next == nullptr) break;
      static_cast<void>(notify(*next, caller_kind::poller));
      ++notified;
    }
    if (is_stopped_on_this_thread()) {
      defer_to_thread(due);
      break;
    }
  }
  return notified;
}

std::size_t reactor::fire_timers() noexcept {
  if (timers_.earliest() == timer_queue::never) return 0;
  std::size_t notified = 0;
  while (wait_timer* const next = timers_.pop_expired(steady_nanoseconds())) {
    next->on_expired(*next);
    ++notified;
  }
  return notified;
}

void reactor::add_timer(wait_timer& timer, long long deadline) {
  if (timers_.add(timer, deadline)) signal();
}

// A lane whose waiters are due is let go of first: what they do may come back here. Where one has
// failed, others may have, that were asked before: they are asked once more, before anybody sees to
// what has failed.
std::size_t reactor::poll_queues(caller_kind caller) noexcept {
  std::size_t notified = 0;
  std::size_t visited = 0;
  retired_queues retired;
  bool may_resume = false;
  for (bool more = true; more;) {
    waiter_list due;
    completion_queue* unawaited = nullptr;
    {
      const std::unique_lock poll_lock{poll_lock_, std::try_to_lock};
      if (!poll_lock.owns_lock() || is_stopped_on_this_thread()) return notified;
      may_resume = caller == caller_kind::poller ||
                   (caller == caller_kind::reactor_thread && !has_pollers());
      if (new_queues_.load(std::memory_order_relaxed) != nullptr) {
        for (completion_queue* queue = new_queues_.exchange(nullptr, std::memory_order_acquire);
             queue != nullptr;) {
          completion_queue* const after = queue->next;
          append(*queue);
          queue = after;
        }
      }
      while (due.empty() && unawaited == nullptr && visited < queue_count_) {
        completion_queue& queue = *first_;
        first_ = queue.next;
        if (first_ == nullptr) last_ = nullptr;
        --queue_count_;
        queue.poll(due);
        if (queue.leave_if_no_waiters()) {
          unawaited = &queue;
          if (queue.failed()) visited = 0;
        } else {
          append(queue);
          ++visited;
        }
      }
      more = !due.empty() || unawaited != nullptr;
      if (!more) last_poll_count_.store(static_cast<long long>(visited), std::memory_order_relaxed);
    }
    // Threads that sleep are told before any continuation, which may end the process, where they
    // are joined.
    waiter_list deferred;
    while (completion_waiter* const next = due.pop()) {
      ++notified;
      if (!notify(*next, caller_kind::other)) deferred.append(*next);
    }
    while (may_resume && !deferred.empty() && !is_stopped_on_this_thread()) {
      static_cast<void>(notify(*deferred.pop(), caller_kind::poller));
    }
    defer_to_thread(deferred);
    if (unawaited != nullptr) retired.add(*unawaited);
  }
  return notified;
}

std::size_t reactor::run_once(caller_kind caller) noexcept {
  if (in_forked_child()) return 0;
  std::size_t notified = poll_queues(caller) + fire_timers();
  if (caller != caller_kind::other) notified += notify_due(caller);
  return notified;
}

// At the end of the process that is whoever there is: a coroutine may have begun to wait on any
// thread.
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
  this_thread_reactors().for_each(
      [](reactor& each, void*) { static_cast<void>(each.run_once(caller_kind::poller)); }, nullptr);
}

// Statics are being destroyed: whose continuation is due from now on is told by the program's
// threads that wait still.
bool reactor::is_stopped_on_this_thread() const noexcept {
  return stopped_.load() && current() != nullptr;
}

// A thread in the program's code stays there.
void reactor::stop_all() noexcept {
  if (in_forked_child()) return;
  all_stopped.store(true);
  for (const std::atomic<reactor*>& slot : reactors) {
    reactor* const each = slot.load(std::memory_order_acquire);
    if (each == nullptr) continue;
    each->stopped_.store(true);
    each->fault_monitor_.shut_down();
    each->signal();
    while (current() == nullptr && !each->is_outside_reactor_.load()) sched_yield();
  }
  sleeping_thread::wake_all();
}

bool reactor::is_idle() const noexcept {
  return demand_.load() == 0 && !any_due_.load() && timers_.earliest() == timer_queue::never;
}

}  // namespace weir::detail
