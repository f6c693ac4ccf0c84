// SPDX-License-Identifier: Apache-2.0
// reactor/run_loop.cpp - runs continuations on the thread that blocks for them in sync_wait().
#include "reactor/run_loop.hpp"

#include "os/clock.hpp"
#include "os/futex.hpp"
#include "reactor/reactor.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>

namespace weir::detail {
namespace {

constinit thread_local run_loop* innermost = nullptr;
constinit std::mutex loop_pool_lock;
constinit run_loop* pool = nullptr;  // guarded by loop_pool_lock

}  // namespace

run_loop& run_loop::enter() {
  run_loop* loop = nullptr;
  {
    const std::lock_guard hold{loop_pool_lock};
    if (pool != nullptr) {
      loop = pool;
      pool = loop->next_;
    }
  }
  if (loop == nullptr) loop = new run_loop;
  {
    const std::lock_guard hold{loop->lock_};
    loop->is_running_ = true;
    loop->is_pooled_ = false;
    loop->reactors_ = {};
  }
  loop->finished_.store(false);
  loop->engine_queue_count_ = 0;
  loop->outer_ = innermost;
  innermost = loop;
  return *loop;
}

// Waiters that remain are left to the reactor's thread, which is needed until the last of them is
// notified. Usually there are none, and the thread stays asleep.
void run_loop::leave() noexcept {
  innermost = outer_;
  adjust_pending(1);  // keeps the loop out of the pool until the end of this function
  waiter_list deferred;
  {
    const std::lock_guard hold{lock_};
    if (pending_.load() > 1) {
      adjust_demand(1);
      has_left_waiters_ = true;
    }
    is_running_ = false;
    deferred = ready_;
    ready_ = {};
  }
  while (completion_waiter* const next = deferred.pop()) {
    reactor& found_by = *next->found_by;
    next->loop = nullptr;
    found_by.deliver(*next);
  }
  adjust_pending(-1);
}

void run_loop::release_if_unused() noexcept {
  {
    const std::lock_guard hold{lock_};
    if (is_running_ || is_pooled_ || pending_.load() != 0) return;
    is_pooled_ = true;
    ++generation_;
    if (has_left_waiters_) adjust_demand(-1);
    has_left_waiters_ = false;
  }
  const std::lock_guard hold{loop_pool_lock};
  next_ = pool;
  pool = this;
}

std::span<reactor* const> run_loop::used_reactors() const noexcept {
  return {reactors_.begin(), std::ranges::find(reactors_, nullptr)};
}

void run_loop::adjust_demand(int change) noexcept {
  for (reactor* const one : used_reactors()) one->adjust_demand(change);
}

bool run_loop::add_reactor(reactor& one) noexcept {
  for (reactor*& slot : reactors_) {
    if (slot == nullptr) slot = &one;
    if (slot == &one) return true;
  }
  return false;
}

void run_loop::join(completion_waiter& waiter, completion_queue& queue) noexcept {
  run_loop* const loop = innermost;
  if (loop == nullptr || !loop->add_reactor(queue.owner())) return;
  waiter.loop = loop;
  waiter.loop_generation = loop->generation_;
  if (queue.uses_engine()) loop->add_engine_queue(queue);
}

bool run_loop::is_on_this_thread() noexcept { return innermost != nullptr; }

// Adds a queue to the queues that help_engine() visits. If there is no room, it replaces the last
// entry. The engine's own threads complete the points of queues without an entry.
void run_loop::add_engine_queue(completion_queue& queue) noexcept {
  completion_queue** const end = engine_queues_.data() + engine_queue_count_;
  if (std::find(engine_queues_.data(), end, &queue) != end) return;
  if (engine_queue_count_ < engine_queues_.size()) ++engine_queue_count_;
  engine_queues_[engine_queue_count_ - 1] = &queue;
}

// Runs the engine's pending work for one of engine_queues_; each call takes the next queue. Removes
// queues that need no help.
completion_queue::engine_help run_loop::help_engine() noexcept {
  completion_queue::engine_help help_state = completion_queue::engine_help::not_needed;
  while (engine_queue_count_ != 0 && help_state == completion_queue::engine_help::not_needed) {
    next_engine_queue_ = (next_engine_queue_ + 1) % engine_queue_count_;
    help_state = engine_queues_[next_engine_queue_]->help_engine();
    if (help_state == completion_queue::engine_help::not_needed)
      engine_queues_[next_engine_queue_] = engine_queues_[--engine_queue_count_];
  }
  return help_state;
}

void run_loop::adjust_pending(int change) noexcept {
  if (pending_.fetch_add(change) + change == 0 && change < 0) release_if_unused();
}

bool run_loop::post(completion_waiter& waiter, reactor& found_by) noexcept {
  run_loop& loop = *waiter.loop;
  {
    const std::lock_guard hold{loop.lock_};
    if (!loop.is_running_ || loop.generation_ != waiter.loop_generation) return false;
    waiter.found_by = &found_by;
    loop.ready_.append(waiter);
  }
  loop.signals_.fetch_add(1);
  if (loop.asleep_.load() != 0) os::futex_wake(loop.signals_, 1);
  return true;
}

void run_loop::finish() noexcept {
  finished_.store(true);
  signals_.fetch_add(1);
  if (asleep_.load() != 0) os::futex_wake(signals_, 1);
}

completion_waiter* run_loop::pop_ready() noexcept {
  const std::lock_guard hold{lock_};
  return ready_.pop();
}

void run_loop::run() noexcept {
  long long since = os::steady_nanoseconds();
  unsigned spins = 0;
  for (;;) {
    const std::uint32_t seen = signals_.load();  // read first, so that no later signal is missed
    if (finished_.load()) break;
    if (completion_waiter* const next = pop_ready()) {
      const long long waited = os::steady_nanoseconds() - since;
      if (next->outcome != errc::not_ready) {
        budget_.record_wait(waited);
      } else {  // of a composite_wait that timed out or was stopped
        budget_.record_timeout(waited);
      }
      next->on_complete(*next, next->outcome);
      since = os::steady_nanoseconds();
      continue;
    }
    for (reactor* const one : used_reactors()) static_cast<void>(one->run_once(caller_kind::other));
    // This thread always runs the continuations of its own waiters. It runs those of other threads
    // only if no other thread would.
    const bool must_drive = reactor::this_thread_must_drive();
    if (must_drive) reactor::run_once_for_this_thread();
    const completion_queue::engine_help help_state = help_engine();
    if (signals_.load() != seen) continue;
    const long long elapsed = os::steady_nanoseconds() - since;
    if (elapsed < budget_.nanoseconds()) {
      spin_pause(spins, help_state != completion_queue::engine_help::not_needed, elapsed);
    } else if (must_drive || help_state == completion_queue::engine_help::exclusive) {
      os::futex_wait_for(signals_, seen, std::chrono::microseconds{20});
    } else {
      sleep(seen);
    }
  }
}

// Sleeps until a signal, or until the calling thread has to drive. Meanwhile the reactors' threads
// poll for this loop's waiters. `seen`: the value of signals_ before the last look for work.
void run_loop::sleep(std::uint32_t seen) noexcept {
  for (reactor* const one : used_reactors()) one->adjust_sleeping_demand(1);
  {
    const sleeping_thread listed{signals_};
    asleep_.store(1);
    while (signals_.load() == seen && !reactor::this_thread_must_drive())
      os::futex_wait(signals_, seen);
    asleep_.store(0);
  }
  for (reactor* const one : used_reactors()) one->adjust_sleeping_demand(-1);
}

}  // namespace weir::detail
