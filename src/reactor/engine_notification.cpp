// SPDX-License-Identifier: Apache-2.0
// reactor/engine_notification.cpp - asks the embedded engine to notify a completion queue when a
// stream's work reaches a point.
#include "reactor/engine_notification.hpp"

#include "reactor/completion_queue.hpp"

#include <mutex>
#include <new>

namespace weir::detail {

engine_notification::engine_notification(completion_queue& queue) noexcept : queue_{queue} {
  reached = &engine_notification::on_reached;
}

void engine_notification::arm() noexcept {
  while (!try_arm()) queue_.poll_engine();
}

bool engine_notification::try_arm() noexcept {
  const std::lock_guard hold_arming{lock_};
  completion_queue::engine_point awaited;
  std::uint64_t ticket = 0;
  {
    const std::lock_guard hold{queue_.points_.lock()};
    ticket = queue_.points_.first_awaited();
    awaited = queue_.engine_point_at(ticket);
    if (awaited.engine == nullptr) return true;
    if (const std::uint64_t previous = ticket_.load(); previous != 0 && previous <= ticket)
      return true;        // on_reached() of that point arms again
    holds_.fetch_add(1);  // keeps the queue out of the pool
  }
  if (ticket_.load() != 0) {
    if (!awaited.engine->cancel_notification(point_, *this)) {
      // The notification is being delivered, and on_reached() arms again.
      release();
      return true;
    }
    holds_.fetch_sub(1);  // that of the cancelled notification
  }
  point_ = awaited.point;
  ticket_.store(ticket);
  try {
    if (awaited.engine->notify_at(awaited.point, *this)) return true;
  } catch (const std::bad_alloc&) {
    queue_.fall_back_to_polling();
    ticket_.store(0);
    release();
    return true;
  }
  ticket_.store(0);
  release();
  return false;
}

void engine_notification::release() noexcept {
  if (holds_.fetch_sub(1) == 1) queue_.reclaim();
}

// Runs on the thread that completes the awaited operation: a worker of the engine, or a thread of
// the program that runs operations while it waits.
void engine_notification::on_reached(engine_callback& self) noexcept {
  auto& notification = static_cast<engine_notification&>(self);
  notification.ticket_.store(0);
  notification.queue_.poll_engine();
  notification.arm();
  notification.release();
}

}  // namespace weir::detail
