// SPDX-License-Identifier: Apache-2.0
// reactor/completion_points.cpp - the pending points of a queue, and the waiters of each point.
#include "reactor/completion_points.hpp"

#include "reactor/reactor.hpp"
#include "reactor/run_loop.hpp"

#include <utility>

namespace weir::detail {

errc completion_points::status(std::uint64_t ticket) const noexcept {
  if (ticket < completed_.load(std::memory_order_acquire)) return errc::success;
  const errc failure = failure_.load(std::memory_order_acquire);
  if (failure == errc::success) return errc::not_ready;
  // Reads again: the point may have completed before the failure.
  return ticket < completed_.load(std::memory_order_acquire) ? errc::success : failure;
}

std::uint64_t completion_points::begin_generation(notifier by_whom) noexcept {
  notifier_ = by_whom;
  const std::uint64_t first = ring_.skip_ticket();
  completed_.store(ring_.begin(), std::memory_order_release);
  return first;
}

bool completion_points::add_waiter(completion_waiter& waiter, std::uint64_t ticket) noexcept {
  pending_point& point = ring_[ticket];
  waiter.ticket = ticket;
  waiter.previous = nullptr;
  waiter.next = point.first_waiter;
  if (point.first_waiter != nullptr) point.first_waiter->previous = &waiter;
  point.first_waiter = &waiter;
  if (ticket >= first_awaited_) return false;
  first_awaited_ = ticket;
  return true;
}

// The point of a waiter that is being notified is no longer in ring_, the buffer of pending points.
// A removed waiter has ticket 0, which is never in ring_.
bool completion_points::remove_waiter(completion_waiter& waiter) noexcept {
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

// Two kinds of waiters have no counter. The engine notifies its waiters itself. A blocked thread
// (policy any_thread) calls reactor::adjust_sleeping_demand() instead.
void completion_points::count_waiter(const completion_waiter& waiter, int change) noexcept {
  if (waiter.loop != nullptr) {
    waiter.loop->adjust_pending(change);
  } else if (waiter.policy != resume_policy::any_thread && notifier_ == notifier::reactor) {
    const int previous = std::exchange(demand_, demand_ + change);
    if (previous == 0 || demand_ == 0) owner_.adjust_demand(change);
  }
}

void completion_points::take_waiters(const pending_point& point, errc outcome,
                                     waiter_list& ready_waiters) noexcept {
  for (completion_waiter* waiter = point.first_waiter; waiter != nullptr;) {
    completion_waiter* const following = waiter->next;
    count_waiter(*waiter, -1);
    waiter->outcome = outcome;
    ready_waiters.append(*waiter);
    waiter = following;
  }
}

void completion_points::find_first_awaited(std::uint64_t ticket) noexcept {
  while (ticket != ring_.end() && ring_[ticket].first_waiter == nullptr) ++ticket;
  first_awaited_ = ticket != ring_.end() ? ticket : none;
}

}  // namespace weir::detail
