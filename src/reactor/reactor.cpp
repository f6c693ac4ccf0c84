// reactor/reactor.cpp - driving: lanes asked, waiters told.
#include "reactor/reactor.hpp"

#include "driver/engine_services.hpp"
#include "os/forked_child.hpp"
#include "os/futex.hpp"
#include "os/clock.hpp"
#include "reactor/driven_here.hpp"
#include "reactor/lanes_to_tidy.hpp"
#include "reactor/run_loop.hpp"
#include "reactor/sleeping_thread.hpp"

#include <array>
#include <mutex>
#include <new>

namespace weir::detail {
namespace {

constexpr std::size_t most_devices = 256;

// Never destroyed: the engine's threads and the program's may come until the process is gone.
constinit std::array<std::atomic<reactor*>, most_devices> reactors{};

constinit std::atomic<bool> all_ended{false};

}  // namespace

reactor& reactor::of(int device) {
  std::atomic<reactor*>& place = reactors[static_cast<std::size_t>(device) % most_devices];
  if (reactor* const there = place.load(std::memory_order_acquire)) return *there;
  auto* const made = new reactor{device};
  reactor* before = nullptr;
  if (!place.compare_exchange_strong(before, made, std::memory_order_acq_rel)) {
    delete made;
    return *before;
  }
  if (const engine_services* const services = embedded_services.load()) services->on_failure(&reactor::device_failed);
  return *made;
}

reactor& reactor::of_noted(int device) noexcept {
  return *reactors[static_cast<std::size_t>(device)].load(std::memory_order_acquire);
}

void reactor::device_failed() noexcept {
  for (lane* one = newest_lane(); one != nullptr; one = one->older()) one->look_again();
}

void reactor::append(lane& one) noexcept {
  one.next = nullptr;
  (last_ != nullptr ? last_->next : first_) = &one;
  last_ = &one;
  ++lanes_;
}

void reactor::arrive(lane& one) noexcept {
  lane* head = arrivals_.load(std::memory_order_relaxed);
  do {
    one.next = head;
  } while (!arrivals_.compare_exchange_weak(head, &one, std::memory_order_release, std::memory_order_relaxed));
  if (needs_.load() != 0) signal();  // else a loop asks, or whoever needs the thread says so
}

void reactor::need(int change) noexcept {
  const int before = needs_.fetch_add(change);
  if (before == 0 && change > 0) signal();
}

void reactor::need_asleep(int change) noexcept {
  const int before = sleepers_.fetch_add(change);
  need(change);
  if (before == 0 && change > 0) signal();
}

bool reactor::is_left_to_this_thread() noexcept {
  return of_own_thread() != nullptr || driven_by_this_thread().any() || all_ended.load();
}

// Whoever sleeps has said so before it looked for the last time.
void reactor::signal() noexcept {
  signals_.fetch_add(1);
  if (asleep_.load() != 0) futex_wake(signals_, 1);
}

// True if it was, false if it is left for somebody else.
bool reactor::tell(completion_waiter& who, callers caller) noexcept {
  if (who.loop != nullptr) {
    if (run_loop::post(who, *this)) return true;
    who.loop = nullptr;
  }
  if (caller != callers::own && who.by != teller::any) return false;
  // The process does not wait for the program's code, if it ends meanwhile.
  reactor* const own = of_own_thread();
  const bool was_outside = own != nullptr && own->outside_.exchange(true);
  who.told(who, who.outcome);
  if (own != nullptr) own->outside_.store(was_outside);
  return true;
}

void reactor::leave(waiter_list& left) noexcept {
  if (left.empty()) return;
  {
    const std::lock_guard hold{due_lock_};
    while (completion_waiter* const next = left.take()) due_.append(*next);
    any_due_.store(true);
  }
  if (!is_driven()) signal();  // else somebody polls, and the last who does signals when it ends
}

void reactor::deliver(waiter_list& due, callers who) noexcept {
  waiter_list left;
  while (completion_waiter* const next = due.take()) {
    if (!tell(*next, who)) left.append(*next);
  }
  leave(left);
}

std::size_t reactor::tell_due(callers who) noexcept {
  std::size_t told = 0;
  while (any_due_.load()) {  // against leave(), which does not signal while somebody polls
    waiter_list due;
    {
      const std::lock_guard hold{due_lock_};
      if (who == callers::thread && is_driven()) break;
      due = due_;
      due_ = {};
      any_due_.store(false, std::memory_order_relaxed);
    }
    while (!is_over_for_this_thread()) {
      completion_waiter* const next = due.take();
      if (next == nullptr) break;
      static_cast<void>(tell(*next, callers::own));
      ++told;
    }
    if (is_over_for_this_thread()) {
      leave(due);
      break;
    }
  }
  return told;
}

std::size_t reactor::tell_expired() noexcept {
  if (timers_.earliest() == timer_queue::never) return 0;
  std::size_t told = 0;
  while (wait_timer* const next = timers_.take_expired(steady_nanoseconds())) {
    next->expired(*next);
    ++told;
  }
  return told;
}

void reactor::add_timer(wait_timer& timer, long long deadline) {
  if (timers_.add(timer, deadline)) signal();
}

// A lane whose waiters are due is let go of first: what they do may come back here. Where one has failed, others may have, that
// were asked before: they are asked once more, before anybody sees to what has failed.
std::size_t reactor::pass(callers who) noexcept {
  std::size_t told = 0;
  std::size_t visited = 0;
  lanes_to_tidy afterwards;
  bool may_resume = false;
  for (bool more = true; more;) {
    waiter_list due;
    lane* left_by_all = nullptr;
    {
      const std::unique_lock driving{driving_, std::try_to_lock};
      if (!driving.owns_lock() || is_over_for_this_thread()) return told;
      may_resume = who == callers::own || (who == callers::thread && !is_driven());
      if (arrivals_.load(std::memory_order_relaxed) != nullptr) {
        for (lane* one = arrivals_.exchange(nullptr, std::memory_order_acquire); one != nullptr;) {
          lane* const after = one->next;
          append(*one);
          one = after;
        }
      }
      while (due.empty() && left_by_all == nullptr && visited < lanes_) {
        lane& asked = *first_;
        first_ = asked.next;
        if (first_ == nullptr) last_ = nullptr;
        --lanes_;
        asked.poll(due);
        if (asked.leave_if_unawaited()) {
          left_by_all = &asked;
          if (asked.failed()) visited = 0;
        } else {
          append(asked);
          ++visited;
        }
      }
      more = !due.empty() || left_by_all != nullptr;
      if (!more) asked_at_once_.store(static_cast<long long>(visited), std::memory_order_relaxed);
    }
    // Threads that sleep are told before any continuation, which may end the process, where they are joined.
    waiter_list left;
    while (completion_waiter* const next = due.take()) {
      ++told;
      if (!tell(*next, callers::any)) left.append(*next);
    }
    while (may_resume && !left.empty() && !is_over_for_this_thread()) {
      static_cast<void>(tell(*left.take(), callers::own));
    }
    leave(left);
    if (left_by_all != nullptr) afterwards.add(*left_by_all);
  }
  return told;
}

std::size_t reactor::drive(callers who) noexcept {
  if (in_forked_child()) return 0;
  std::size_t told = pass(who) + tell_expired();
  if (who != callers::any) told += tell_due(who);
  return told;
}

// At the end of the process that is whoever there is: a coroutine may have begun to wait on any thread.
void reactor::drive_those_left_to_this_thread() noexcept {
  reactor* const own = of_own_thread();
  if (own != nullptr) {
    static_cast<void>(own->drive(callers::thread));
  } else if (all_ended.load()) {
    for (const std::atomic<reactor*>& place : reactors) {
      if (reactor* const one = place.load(std::memory_order_acquire)) static_cast<void>(one->drive(callers::own));
    }
    return;
  }
  driven_by_this_thread().for_each([](reactor& one, void*) { static_cast<void>(one.drive(callers::own)); }, nullptr);
}

// Statics are being destroyed: whose continuation is due from now on is told by the program's threads that wait still.
bool reactor::is_over_for_this_thread() const noexcept { return ended_.load() && of_own_thread() != nullptr; }

// A thread in the program's code stays there.
void reactor::stop_all() noexcept {
  if (in_forked_child()) return;
  all_ended.store(true);
  for (const std::atomic<reactor*>& place : reactors) {
    reactor* const one = place.load(std::memory_order_acquire);
    if (one == nullptr) continue;
    one->ended_.store(true);
    one->faults_.end();
    one->signal();
    while (of_own_thread() == nullptr && !one->outside_.load()) sched_yield();
  }
  sleeping_thread::wake_all();
}

bool reactor::is_idle() const noexcept {
  return needs_.load() == 0 && !any_due_.load() && timers_.earliest() == timer_queue::never;
}

}  // namespace weir::detail
