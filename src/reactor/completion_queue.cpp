// SPDX-License-Identifier: Apache-2.0
// reactor/completion_queue.cpp - adds points to a queue and waiters to its points, and completes
// them. Longer than 400 lines, because all of it shares the protocol of the queue's two locks.
#include "reactor/completion_queue.hpp"

#include "reactor/completion_queue_pool.hpp"
#include "reactor/event_point.hpp"
#include "reactor/reactor.hpp"
#include "reactor/run_loop.hpp"

#include <weir/detail/closed.hpp>

#include <algorithm>
#include <mutex>
#include <utility>

namespace weir::detail {

void completion_queue::attach(const queue_key& key) {
  const std::lock_guard lock{polling_};
  const std::lock_guard hold{points_.lock()};
  key_ = key;
  generation_.fetch_add(1, std::memory_order_relaxed);
  services_.store(active_engine_services(), std::memory_order_relaxed);
  timeline_ = nullptr;
  first_of_generation_ = points_.begin_generation(
      uses_engine() ? completion_points::notifier::engine : completion_points::notifier::reactor);
  is_attached_ = true;
  is_pooled_ = false;
  event_owner_ = event_owner::pool;
}

queue_key completion_queue::key_of(std::uint64_t ticket) const noexcept {
  const std::lock_guard hold{points_.lock()};
  return is_attached_ && ticket >= first_of_generation_ ? key_ : queue_key{};
}

void completion_queue::detach() noexcept {
  {
    const std::lock_guard hold{points_.lock()};
    is_attached_ = false;
  }
  reclaim();
}

bool completion_queue::idle() noexcept {
  std::uint64_t last = 0;
  {
    const std::lock_guard hold{points_.lock()};
    // A record in progress is about to add a point.
    if (recording_turns_.is_recording()) return false;
    if (ring().empty()) return true;
    last = ring().end() - 1;
  }
  return try_query(last) != errc::not_ready;
}

void completion_queue::poll_if_abandoned() noexcept {
  std::uint64_t last = 0;
  {
    const std::lock_guard hold{points_.lock()};
    if (is_attached_ || is_in_reactor_ || ring().empty() || notification_.is_held()) return;
    last = ring().end() - 1;
  }
  static_cast<void>(try_query(last));
}

void completion_queue::reclaim() noexcept {
  std::vector<CUevent> unused;
  unsigned long long context = 0;
  bool is_reusable = false;
  bool events_are_good = false;
  {
    const std::lock_guard hold{points_.lock()};
    const bool is_recording = recording_turns_.is_recording();  // has reserved room in ring()
    is_reusable = !is_attached_ && !is_pooled_ && !is_in_reactor_ && !notification_.is_held() &&
                  ring().empty() && !is_recording && !failed();
    if (is_reusable) is_pooled_ = true;
    events_are_good = event_owner_ == event_owner::pool && !failed();
    if ((!is_recording && ring().shrink()) || is_reusable || failed()) unused.swap(free_);
    context = key_.context_number;
  }
  if (events_are_good) {
    event_pool::instance().release(context, unused);
  } else {
    destroy_events(unused);
  }
  if (is_reusable) release_queue(*this);
}

// Removes completed points that no thread polls for, if the ring has to grow for the next point.
// Queries the newest point, so that the ring becomes empty and can shrink. If that point is
// pending, queries the one in the middle. If it is complete, half of the ring becomes free.
// Otherwise at least half of the points are pending, and the ring may grow. So queries are few
// compared with points. On the embedded driver, completes all points that are reached.
void completion_queue::trim() noexcept {
  std::uint64_t newest = 0;
  std::uint64_t middle = 0;
  {
    const std::lock_guard hold{points_.lock()};
    needs_trim_.store(false, std::memory_order_relaxed);
    if (ring().size() != ring().capacity()) return;
    newest = ring().end() - 1;
    middle = ring().begin() + ring().size() / 2;
  }
  if (uses_engine()) {
    poll_engine();
    reclaim();
  } else if (try_query(newest) == errc::not_ready) {
    static_cast<void>(try_query(middle));
  }
}

std::uint64_t completion_queue::push(std::uint64_t value) noexcept {
  const std::uint64_t ticket = ring().push(value);
  if (ring().size() == ring().capacity()) needs_trim_.store(true, std::memory_order_relaxed);
  return ticket;
}

driver_result completion_queue::add_point(CUstream stream, std::uint64_t generation,
                                          std::uint64_t& ticket) {
  if (needs_trim_.load(std::memory_order_relaxed)) [[unlikely]] {
    trim();
  }
  const bool engine_notifies = uses_engine();
  const driver_result added = engine_notifies ? add_engine_point(stream, generation, ticket)
                                              : add_event_point(stream, generation, ticket);
  // A detach() during the failed record could not return the queue to the pool.
  if (!engine_notifies && added.code != errc::success) reclaim();
  return added;
}

driver_result completion_queue::add_event_point(CUstream stream, std::uint64_t generation,
                                                std::uint64_t& ticket) {
  if (const driver_result refused = check_not_capturing(stream); refused.code != errc::success)
    return refused;
  recording_turns::turn turn{recording_turns_, points_.lock()};
  if (!is_attached_to(stream, generation) || services() != nullptr) return {stale};
  ring().reserve_one();
  free_.reserve(ring().capacity());
  CUevent event = nullptr;
  if (!free_.empty()) {
    event = free_.back();
    free_.pop_back();
  }
  turn.unlock();
  const driver_result added = record_event(event, stream, key_.context, key_.context_number);
  turn.lock();
  if (added.code == errc::success) ticket = push(to_value(event));
  return added;
}

// Adds the current end of the stream as a point. Two threads may read the end of the stream in one
// order and arrive at the lock in the other. The thread with the smaller count then gets the ticket
// of the larger count.
driver_result completion_queue::add_engine_point(CUstream stream, std::uint64_t generation,
                                                 std::uint64_t& ticket) {
  const engine_services* const engine = services();
  if (engine == nullptr) return {stale};
  timeline_point end;
  work_context context;
  const CUresult answer = engine->end_of_stream(stream, end, context);
  if (answer != CUDA_SUCCESS) return {static_cast<errc>(answer)};
  if (engine->reached(end)) {
    ticket = first_of_generation_.load(std::memory_order_relaxed);
    return {};
  }
  const std::lock_guard hold{points_.lock()};
  if (!is_attached_to(stream, generation) || services() != engine) return {stale};
  if (timeline_ != end.timeline) {
    timeline_ = end.timeline;
    work_context_ = context;
  }
  if (!ring().empty() && ring()[ring().end() - 1].value >= end.count) {
    ticket = ring().end() - 1;
    return {};
  }
  ring().reserve_one();
  ticket = push(end.count);
  return {};
}

std::uint64_t completion_queue::watch_event(CUevent event) {
  const std::lock_guard lock{polling_};
  const std::lock_guard hold{points_.lock()};
  free_.reserve(1);
  // The engine does not know the point of this event, so cuEventQuery is polled.
  services_.store(nullptr, std::memory_order_relaxed);
  points_.set_notifier(completion_points::notifier::reactor);
  return push_only_point(to_value(event));
}

std::uint64_t completion_queue::watch_event(const timeline_point& point,
                                            const work_context& context) {
  const std::lock_guard hold{points_.lock()};
  timeline_ = point.timeline;
  work_context_ = context;
  return push_only_point(point.count);
}

std::uint64_t completion_queue::push_only_point(std::uint64_t value) {
  ring().reserve_one();
  event_owner_ = event_owner::program;
  is_attached_ = false;
  return ring().push(value);
}

bool completion_queue::adopt_event(std::uint64_t ticket) noexcept {
  const std::lock_guard hold{points_.lock()};
  if (known_status(ticket) != errc::not_ready) return false;
  event_owner_ = event_owner::queue;
  return true;
}

errc completion_queue::query_point(std::uint64_t value) const noexcept {
  if (const engine_services* const engine = services()) {
    if (const CUresult health = engine->context_status(work_context_); health != CUDA_SUCCESS)
      return static_cast<errc>(health);
    return engine->reached({timeline_, value}) ? errc::success : errc::not_ready;
  }
  return query_event(to_event(value));
}

errc completion_queue::query(std::uint64_t ticket) noexcept {
  if (const errc outcome = known_status(ticket); outcome != errc::not_ready) return outcome;
  return query_locked(ticket, std::unique_lock{polling_});
}

errc completion_queue::try_query(std::uint64_t ticket) noexcept {
  if (const errc outcome = known_status(ticket); outcome != errc::not_ready) return outcome;
  std::unique_lock lock{polling_, std::try_to_lock};
  return lock.owns_lock() ? query_locked(ticket, std::move(lock)) : known_status(ticket);
}

errc completion_queue::query_locked(std::uint64_t ticket,
                                    std::unique_lock<os::spin_lock> lock) noexcept {
  std::uint64_t value = 0;
  {
    const std::lock_guard hold{points_.lock()};
    if (ring().contains(ticket)) value = ring()[ticket].value;
  }
  if (value == 0) return known_status(ticket);  // no longer pending
  const errc answer = query_point(value);
  if (answer == errc::not_ready) return answer;
  waiter_list ready_waiters;
  if (answer != errc::success) {
    fail(answer, ready_waiters);
  } else {
    const std::lock_guard hold{points_.lock()};
    complete_through(ticket, ready_waiters);
  }
  lock.unlock();
  owner().deliver(ready_waiters);
  reclaim();
  return known_status(ticket);
}

// Queries the point in pending_ again if it is still the oldest one that has a waiter. This does
// not read the ring, whose cache line belongs to the threads that add points. Such a point is still
// in the ring, since only the holder of polling_ removes points. If the queried point is pending
// and not the oldest, the oldest one is queried next, since it may be complete.
void completion_queue::poll(waiter_list& ready_waiters) noexcept {
  const std::unique_lock lock{polling_, std::try_to_lock};
  if (!lock.owns_lock()) return;
  if (services() != nullptr) {  // after fall_back_to_polling()
    complete_reached(ready_waiters);
    return;
  }
  for (bool again = true; again;) {
    const std::uint64_t oldest = points_.first_awaited();
    if (pending_.ticket != oldest) {
      const std::lock_guard hold{points_.lock()};
      if (points_.first_awaited() == completion_points::none) return;
      pending_.ticket = std::min(points_.first_awaited() + stride_, ring().end() - 1);
      pending_.value = ring()[pending_.ticket].value;
    }
    again = false;
    const errc answer = query_point(pending_.value);
    if (answer == errc::not_ready) {
      again = std::exchange(stride_, 0) != 0 && pending_.ticket != oldest;
    } else if (answer != errc::success) {
      fail(answer, ready_waiters);
    } else {
      const std::lock_guard hold{points_.lock()};
      complete_through(pending_.ticket, ready_waiters);
      stride_ = std::min(2 * stride_ + 1, ring().size());
    }
  }
}

// Keeps the event of a completed point in free_, if the queue owns it. add_event_point() and
// watch_event() have reserved the room.
void completion_queue::keep_event(std::uint64_t value) noexcept {
  if (owns_events()) free_.push_back(to_event(value));
}

void completion_queue::complete_through(std::uint64_t ticket, waiter_list& ready_waiters) noexcept {
  points_.complete_through(ticket, ready_waiters,
                           [this](std::uint64_t value) { keep_event(value); });
}

void completion_queue::fail(errc outcome, waiter_list& ready_waiters) noexcept {
  const std::lock_guard hold{points_.lock()};
  points_.fail(outcome, ready_waiters, [this](std::uint64_t value) { keep_event(value); });
}

bool completion_queue::add(completion_waiter& waiter, std::uint64_t ticket) {
  bool joins_reactor = false;
  bool is_first = false;
  bool engine_notifies = false;
  {
    const std::lock_guard hold{points_.lock()};
    waiter.outcome = known_status(ticket);
    if (waiter.outcome != errc::not_ready) return false;
    is_first = points_.add_waiter(waiter, ticket);
    waiter.loop = nullptr;
    if (waiter.policy == resume_policy::waiting_thread) run_loop::join(waiter, *this);
    engine_notifies = uses_engine();
    joins_reactor = !is_in_reactor_ && !engine_notifies;
    if (joins_reactor) is_in_reactor_ = true;
    points_.count_waiter(waiter, 1);
  }
  if (engine_notifies) {
    notification_.arm();
  } else if (joins_reactor) {
    owner().add_queue(*this);
  } else if (is_first) {
    owner().poll_sooner();
  }
  return true;
}

bool completion_queue::is_polled_by_reactor(std::uint64_t ticket) const noexcept {
  return points_.first_awaited() <= ticket && !uses_engine() && owner_.is_polling() &&
         !run_loop::is_on_this_thread();
}

bool completion_queue::leave_if_no_waiters() noexcept {
  if (points_.first_awaited() != completion_points::none) return false;
  const std::lock_guard hold{points_.lock()};
  if (points_.first_awaited() != completion_points::none) return false;
  is_in_reactor_ = false;
  if (uses_engine()) owner().adjust_demand(-1);  // undoes fall_back_to_polling()
  return true;
}

// Completes the points that the engine has reached, or fails all points if their context has
// failed. The caller holds polling_. If no point is pending, there is no context whose status could
// be queried.
void completion_queue::complete_reached(waiter_list& ready_waiters) noexcept {
  const engine_services* const engine = services();
  {
    const std::lock_guard hold{points_.lock()};
    if (engine == nullptr || ring().empty()) return;
  }
  if (const CUresult health = engine->context_status(work_context_); health != CUDA_SUCCESS) {
    fail(static_cast<errc>(health), ready_waiters);
    return;
  }
  const std::lock_guard hold{points_.lock()};
  std::uint64_t reached = ring().begin();
  while (reached != ring().end() && engine->reached({timeline_, ring()[reached].value})) ++reached;
  if (reached != ring().begin()) complete_through(reached - 1, ready_waiters);
}

void completion_queue::poll_engine() noexcept {
  if (!uses_engine()) return;
  waiter_list ready_waiters;
  {
    const std::lock_guard lock{polling_};
    complete_reached(ready_waiters);
  }
  owner().deliver(ready_waiters);
}

// Lets the reactor thread poll the queue, because the engine has no memory for a notification.
void completion_queue::fall_back_to_polling() noexcept {
  {
    const std::lock_guard hold{points_.lock()};
    if (is_in_reactor_) return;
    is_in_reactor_ = true;
  }
  owner().adjust_demand(1);
  owner().add_queue(*this);
}

completion_queue::engine_point completion_queue::engine_point_at(std::uint64_t ticket) noexcept {
  const engine_services* const engine = services();
  if (engine == nullptr || !ring().contains(ticket)) return {};
  return {engine, {timeline_, ring()[ticket].value}};
}

completion_queue::engine_help completion_queue::help_engine(std::uint64_t ticket) noexcept {
  return help_engine(engine_point_of(ticket));
}

completion_queue::engine_help completion_queue::help_engine() noexcept {
  engine_point awaited_point;
  {
    const std::lock_guard hold{points_.lock()};
    awaited_point = engine_point_at(points_.first_awaited());
  }
  return help_engine(awaited_point);
}

completion_queue::engine_help completion_queue::help_engine(
    const engine_point& awaited_point) noexcept {
  if (awaited_point.engine == nullptr) return engine_help::not_needed;
  return awaited_point.engine->run_pending_work(awaited_point.point) ? engine_help::exclusive
                                                                     : engine_help::shared;
}

}  // namespace weir::detail
