// SPDX-License-Identifier: Apache-2.0
// api/completion/completion.cpp - completions of a stream's work: creation, status and blocking
// waits.
#include <weir/completion/completion.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/stream/stream.hpp>

#include "api/capture/capture_checks.hpp"
#include "api/capture/relaxed_capture_guard.hpp"
#include "api/completion/completion_access.hpp"
#include "api/core/check.hpp"
#include "api/core/sync_allowed.hpp"
#include "api/core/unhandled_error.hpp"
#include "api/stream/direct_driver.hpp"
#include "api/stream/host_failures.hpp"
#include "api/stream/stream_state.hpp"
#include "os/forked_child.hpp"
#include "reactor/blocking_wait.hpp"
#include "reactor/reactor.hpp"

namespace weir {
using detail::completion_queue;

namespace {

// Creates a completion for all work enqueued in the stream so far. `queue` is the stream's
// completion queue if the caller knows it, else null.
weir::completion completion_of(stream_ref s, completion_queue* queue, call_site at) {
  constexpr const char* call = "weir::stream::completion";
  CUstream_st* const stream = detail::require_open(s, call, at);
  CUstream_st* const handle = detail::is_legacy(stream) ? abi::CU_STREAM_LEGACY : stream;
  std::uint64_t ticket = 0;
  std::uint64_t generation = completion_queue::any_generation;
  detail::driver_result outcome{completion_queue::stale};
  const detail::relaxed_mode_if_capturing guard{at};
  if (queue != nullptr && !queue->failed()) [[likely]] {
    outcome = queue->add_point(handle, generation, ticket);
  }
  // The queue may be detached, and may serve another stream, after queue_of() has returned it.
  while (outcome.code == completion_queue::stale) {
    queue = &detail::queue_of(handle, generation, call, at);
    outcome = queue->add_point(handle, generation, ticket);
  }
  if (outcome.code == errc::success) [[likely]] {
    return detail::completion_access::make(*queue, ticket);
  }
  if (outcome.code == errc::stream_capture_unsupported ||
      outcome.code == errc::stream_capture_invalidated) {
    detail::throw_if_stream_captured(stream, call, at);
  }
  detail::throw_driver_error(outcome.code, outcome.call != nullptr ? outcome.call : call, s, at);
}

}  // namespace

detail::completion_queue& detail::prepare_completion(stream_ref s, const char* call, call_site at) {
  CUstream_st* const stream = require_open(s, call, at);
  throw_if_capturing(stream, call, at);
  std::uint64_t generation = completion_queue::any_generation;
  return queue_of(is_legacy(stream) ? abi::CU_STREAM_LEGACY : stream, generation, call, at);
}

weir::completion stream_ref::completion(call_site at) const {
  return completion_of(*this, nullptr, at);
}

weir::completion stream::completion(call_site at) const {
  return completion_of(ref(), state_ != nullptr ? state_->known_queue() : nullptr, at);
}

bool completion::done(call_site at) const {
  const errc answer = status();
  if (answer == errc::not_ready) return false;
  if (answer != errc::success)
    detail::throw_outcome(queue_, ticket_, answer, "weir::completion::done", at);
  return true;
}

errc completion::status() const noexcept {
  return queue_ == nullptr ? errc::success : detail::query_outcome(*queue_, ticket_);
}

bool completion::wait_for_nanoseconds(long long timeout, call_site at) const {
  constexpr const char* call = "weir::completion::wait";
  detail::require_outside_host_function(call, {}, at);
  detail::require_sync_allowed(call, at);
  errc outcome = queue_ == nullptr ? errc::success : detail::known_outcome(*queue_, ticket_);
  if (outcome == errc::not_ready) {
    outcome = detail::wait_until_complete(*queue_, ticket_, timeout);
    if (outcome == errc::not_ready) return false;
  }
  detail::throw_outcome(queue_, ticket_, outcome, call, at);
  return true;
}

}  // namespace weir
