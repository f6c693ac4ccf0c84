// SPDX-License-Identifier: Apache-2.0
// api/completion/completion_awaiter.cpp - coroutines and callbacks that wait for a completion.
#include <weir/completion/completion.hpp>
#include <weir/detail/completion_awaiter.hpp>
#include <weir/stream/stream.hpp>

#include "api/completion/completion_access.hpp"
#include "api/core/check.hpp"
#include "api/core/unhandled_error.hpp"
#include "api/stream/direct_driver.hpp"
#include "api/stream/host_failures.hpp"
#include "os/forked_child.hpp"
#include "reactor/reactor.hpp"

namespace weir::detail {
namespace {

// Returns the identity of the stream for host_failures.hpp. Takes the thread or context of a
// default stream from the key, because the calling thread may be another one than the thread that
// created the completion.
stream_identity identity_of(const queue_key& key) noexcept {
  if (key.stream == CU_STREAM_PER_THREAD) return {key.stream, key.identity};
  if (is_legacy(key.stream)) return {CU_STREAM_LEGACY, device_address(key.context)};
  return identify(key.stream);
}

}  // namespace

void throw_outcome(const completion_queue* queue, unsigned long long ticket, errc outcome,
                   const char* call, call_site at) {
  if (outcome == errc::success && pending_host_failures.load(std::memory_order_acquire) == 0)
      [[likely]] {
    return;
  }
  // A forked child must not lock the queue. At the fork another thread, which does not exist in the
  // child, may have held the lock.
  const bool has_stream = queue != nullptr && !os::in_forked_child();
  const queue_key key = has_stream ? queue->key_of(ticket) : queue_key{};
  if (outcome == errc::success) {
    if (is_open(key.stream)) throw_host_failures(identity_of(key));
    return;
  }
  throw_error(outcome, call, is_open(key.stream) ? subject{stream_ref{key.stream}} : subject{}, at);
}

timed_awaiter::timed_awaiter(const completion& awaited, long long nanoseconds,
                             call_site at) noexcept
    : composite_wait{wait_count::all, nanoseconds}, at_{at} {
  set_item(item_, awaited);
}

bool timed_awaiter::await_resume() const {
  if (result() == wait_result::timed_out) return false;
  throw_failure({&item_, 1}, at_);
  return true;
}

completion_awaiter::completion_awaiter(const completion& awaited, query_policy query) noexcept
    : queue_{awaited.queue_}, query_policy_{query} {
  ticket = awaited.ticket_;
}

bool completion_awaiter::await_ready() noexcept {
  if (queue_ == nullptr) {
    outcome = errc::success;
  } else if (query_policy_ == query_policy::skip_if_polled &&
             queue_->is_polled_by_reactor(ticket)) {
    outcome = known_outcome(*queue_, ticket);
  } else {
    outcome = query_outcome(*queue_, ticket);
  }
  return outcome != errc::not_ready;
}

bool completion_awaiter::suspend(std::coroutine_handle<> awaiting, completion_function function,
                                 resume_policy new_policy) {
  awaiting_ = awaiting;
  on_complete = function;
  policy = new_policy;
  return add_waiter(*queue_, ticket, *this);
}

void completion_awaiter::resume(completion_waiter& self, errc) noexcept {
  awaiter_of(self).awaiting_.resume();
}

void completion_awaiter::throw_failure(call_site at) const {
  throw_outcome(queue_, ticket, outcome, "co_await", at);
}

void completion_callback_base::start(const completion& awaited) {
  completion_queue* const queue = completion_access::queue(awaited);
  if (queue != nullptr && add_waiter(*queue, completion_access::ticket(awaited), *this)) return;
  if (queue == nullptr) outcome = errc::success;
  post_completion(queue, *this);
}

void completion_callback_base::report_exception() noexcept {
  call_unhandled_error_handler(std::current_exception());
}

}  // namespace weir::detail
