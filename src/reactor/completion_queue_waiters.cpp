// SPDX-License-Identifier: Apache-2.0
// reactor/completion_queue_waiters.cpp - the waiters of a queue, and notifications from the
// embedded engine.
#include "reactor/completion_queue.hpp"
#include "reactor/reactor.hpp"
#include "reactor/run_loop.hpp"

#include <mutex>
#include <new>
#include <utility>

namespace weir::detail {

bool completion_queue::add(completion_waiter& waiter, std::uint64_t ticket) {
  bool joins_reactor = false;
  bool is_first = false;
  bool engine_notifies = false;
  {
    const std::lock_guard hold{ring_lock_};
    waiter.outcome = known_status(ticket);
    if (waiter.outcome != errc::not_ready) return false;
    pending_point& point = ring_[ticket];
    waiter.ticket = ticket;
    waiter.previous = nullptr;
    waiter.next = point.first_waiter;
    if (point.first_waiter != nullptr) point.first_waiter->previous = &waiter;
    point.first_waiter = &waiter;
    is_first = ticket < first_awaited_;
    if (is_first) first_awaited_ = ticket;
    waiter.loop = nullptr;
    if (waiter.policy == resume_policy::waiting_thread) run_loop::join(waiter, *this);
    engine_notifies = uses_engine();
    joins_reactor = !is_in_reactor_ && !engine_notifies;
    if (joins_reactor) is_in_reactor_ = true;
    count_waiter(waiter, 1);
  }
  if (engine_notifies) {
    arm();
  } else if (joins_reactor) {
    owner().add_queue(*this);
  } else if (is_first) {
    owner().poll_sooner();
  }
  return true;
}

bool completion_queue::is_polled_by_reactor(std::uint64_t ticket) const noexcept {
  return first_awaited_.load(std::memory_order_relaxed) <= ticket && !uses_engine() &&
         owner_.is_polling() && !run_loop::is_on_this_thread();
}

bool completion_queue::remove(completion_waiter& waiter) noexcept {
  const std::lock_guard hold{ring_lock_};
  // The ticket of a waiter that is being notified is no longer in the ring; ticket 0 never is.
  const std::uint64_t ticket = waiter.ticket;
  if (!ring_.contains(ticket)) return false;
  waiter.ticket = 0;
  (waiter.previous != nullptr ? waiter.previous->next : ring_[ticket].first_waiter) = waiter.next;
  if (waiter.next != nullptr) waiter.next->previous = waiter.previous;
  if (ticket == first_awaited_ && ring_[ticket].first_waiter == nullptr)
    find_first_awaited(ticket + 1);
  count_waiter(waiter, -1);
  return true;
}

// Counts the waiter with its run loop if it has one, else with the reactor thread, which has to
// poll for it. The engine notifies its waiters itself, and blocked threads are counted by
// adjust_sleeping_demand().
void completion_queue::count_waiter(completion_waiter& waiter, int change) noexcept {
  if (waiter.loop != nullptr) {
    waiter.loop->adjust_pending(change);
  } else if (waiter.policy != resume_policy::any_thread && !uses_engine()) {
    const int previous = std::exchange(demand_, demand_ + change);
    if (previous == 0 || demand_ == 0) owner().adjust_demand(change);
  }
}

void completion_queue::find_first_awaited(std::uint64_t ticket) noexcept {
  while (ticket != ring_.end() && ring_[ticket].first_waiter == nullptr) ++ticket;
  first_awaited_ = ticket != ring_.end() ? ticket : none;
}

bool completion_queue::leave_if_no_waiters() noexcept {
  if (first_awaited_ != none) return false;
  const std::lock_guard hold{ring_lock_};
  if (first_awaited_ != none) return false;
  is_in_reactor_ = false;
  if (uses_engine()) owner().adjust_demand(-1);
  return true;
}

// Completes the points that the engine has reached. Requires polling_. If the ring is empty, there
// is no context whose status could be queried.
void completion_queue::complete_reached(waiter_list& ready_waiters) noexcept {
  const engine_services* const engine = services();
  {
    const std::lock_guard hold{ring_lock_};
    if (engine == nullptr || ring_.empty()) return;
  }
  if (const CUresult health = engine->context_status(work_context_); health != CUDA_SUCCESS) {
    fail(static_cast<errc>(health), ready_waiters);
    return;
  }
  const std::lock_guard hold{ring_lock_};
  std::uint64_t reached = ring_.begin();
  while (reached != ring_.end() && engine->reached({timeline_, ring_[reached].value})) ++reached;
  if (reached != ring_.begin()) complete_through(reached - 1, ready_waiters);
}

void completion_queue::poll_engine() noexcept {
  if (!uses_engine()) return;
  waiter_list ready_waiters;
  {
    const std::lock_guard lock{polling_};
    complete_reached(ready_waiters);
  }
  owner().deliver(ready_waiters, caller_kind::other);
}

// Requests a notification for the oldest point that has a waiter. Points that are already reached
// are completed here, and their waiters notified.
void completion_queue::arm() noexcept {
  while (!try_arm()) poll_engine();
}

bool completion_queue::try_arm() noexcept {
  const std::lock_guard hold_arming{arming_};
  const engine_services* engine = nullptr;
  timeline_point point;
  std::uint64_t ticket = none;
  {
    const std::lock_guard hold{ring_lock_};
    engine = services();
    ticket = first_awaited_;
    if (engine == nullptr || ticket == none) return true;
    point = {timeline_, ring_[ticket].value};
    if (const std::uint64_t previous = armed_.load(); previous != 0) {
      if (previous <= ticket) return true;
    }
    notices_.fetch_add(1);  // keeps the generation from ending
  }
  if (armed_.load() != 0) {
    if (!engine->cancel_notification(armed_point_, notice_)) {
      // The notification is being delivered, and on_reached() arms again.
      release_notice();
      return true;
    }
    notices_.fetch_sub(1);
  }
  armed_point_ = point;
  armed_.store(ticket);
  try {
    if (engine->notify_at(point, notice_)) return true;
  } catch (const std::bad_alloc&) {
    fall_back_to_polling();
    armed_.store(0);
    release_notice();
    return true;
  }
  armed_.store(0);
  release_notice();
  return false;
}

// Lets the reactor thread poll the queue, because the engine has no memory for a notification.
void completion_queue::fall_back_to_polling() noexcept {
  {
    const std::lock_guard hold{ring_lock_};
    if (is_in_reactor_) return;
    is_in_reactor_ = true;
  }
  owner().adjust_demand(1);
  owner().add_queue(*this);
}

void completion_queue::release_notice() noexcept {
  if (notices_.fetch_sub(1) == 1) reclaim();
}

// Runs on a thread of the engine.
void completion_queue::on_reached(engine_callback& self) noexcept {
  completion_queue& queue = *static_cast<notice&>(self).queue;
  queue.armed_.store(0);
  queue.poll_engine();
  queue.arm();
  queue.release_notice();
}

completion_queue::engine_point completion_queue::engine_point_of(std::uint64_t ticket) noexcept {
  const std::lock_guard hold{ring_lock_};
  if (ticket == none) ticket = first_awaited_;
  const engine_services* const engine = services();
  if (engine == nullptr || !ring_.contains(ticket)) return {};
  return {engine, {timeline_, ring_[ticket].value}};
}

completion_queue::engine_help completion_queue::help_engine() noexcept { return help_engine(none); }

completion_queue::engine_help completion_queue::help_engine(std::uint64_t ticket) noexcept {
  const engine_point awaited_point = engine_point_of(ticket);
  if (awaited_point.engine == nullptr) return engine_help::not_needed;
  return awaited_point.engine->run_pending_work(awaited_point.point) ? engine_help::exclusive
                                                                     : engine_help::shared;
}

}  // namespace weir::detail
