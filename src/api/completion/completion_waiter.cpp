// SPDX-License-Identifier: Apache-2.0
// api/completion/completion_waiter.cpp - access to completion queues for the templates of public
// headers.
#include <weir/detail/completion_waiter.hpp>

#include "api/core/call_restrictions.hpp"
#include "os/forked_child.hpp"
#include "reactor/completion_queue.hpp"
#include "reactor/reactor.hpp"

namespace weir::detail {
namespace {

reactor& reactor_of(completion_queue* queue) {
  return queue != nullptr ? queue->owner() : reactor::for_device(0);
}

}  // namespace

errc known_outcome(const completion_queue& queue, unsigned long long ticket) noexcept {
  return os::in_forked_child() ? errc::not_initialized : queue.known_status(ticket);
}

errc query_outcome(completion_queue& queue, unsigned long long ticket) noexcept {
  const errc known_status = known_outcome(queue, ticket);
  if (known_status != errc::not_ready || inside_host_function) return known_status;
  return queue.query(ticket);
}

bool add_waiter(completion_queue& queue, unsigned long long ticket, completion_waiter& waiter) {
  if (os::in_forked_child()) {
    waiter.outcome = errc::not_initialized;
    return false;
  }
  queue.owner().start_thread();
  waiter.loop = nullptr;
  return queue.add(waiter, ticket);
}

bool cancel_wait(completion_queue& queue, completion_waiter& waiter) noexcept {
  return !os::in_forked_child() && queue.remove(waiter);
}

void ensure_reactor_thread(completion_queue* queue) {
  if (os::in_forked_child()) return;
  static_cast<void>(driver());  // loads a driver if none is in use yet
  reactor_of(queue).start_thread();
}

void post_completion(completion_queue* queue, completion_waiter& waiter) {
  if (os::in_forked_child()) {
    waiter.on_complete(waiter, waiter.outcome);
    return;
  }
  ensure_reactor_thread(queue);
  reactor_of(queue).deliver(waiter);
}

}  // namespace weir::detail
