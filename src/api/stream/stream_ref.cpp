// SPDX-License-Identifier: Apache-2.0
// api/stream/stream_ref.cpp - operations and properties of streams.
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/stream/stream.hpp>

#include "api/capture/capture_checks.hpp"
#include "api/capture/capture_invalidation.hpp"
#include "api/capture/capture_registry.hpp"
#include "api/capture/relaxed_capture_guard.hpp"
#include "api/completion/event_completion.hpp"
#include "api/core/check.hpp"
#include "api/core/sync_allowed.hpp"
#include "api/device/primary_context.hpp"
#include "api/stream/host_failures.hpp"
#include "api/stream/stream_state.hpp"
#include "api/stream/thread_event.hpp"
#include "api/stream/work_query.hpp"
#include "os/poll_until.hpp"

#include <utility>

namespace weir {

using detail::check;
using detail::driver;
using detail::require_open;

namespace {

// Throws if a wait failed with `answer`. A wait that would order two captures has invalidated both.
// check() stores the call in the record of the waiter's capture, so the capture of the awaited
// stream or event is handled here.
void check_wait(abi::CUresult answer, stream_ref waiter, detail::subject awaited, call_site at) {
  constexpr const char* call = "cuStreamWaitEvent";
  if (answer == abi::CUDA_ERROR_STREAM_CAPTURE_MERGE && detail::any_capture_active()) {
    detail::attribute_failure(errc::stream_capture_merge, call, awaited, at);
  }
  check(answer, call, waiter, at);
}

}  // namespace

stream_ref stream_ref::legacy() noexcept { return stream_ref{abi::CU_STREAM_LEGACY}; }
stream_ref stream_ref::per_thread() noexcept { return stream_ref{abi::CU_STREAM_PER_THREAD}; }

event stream_ref::record(call_site at) const {
  event recorded{
      context_ref{detail::context_of(require_open(*this, "cuEventRecord", at), at)}, {}, at};
  record(recorded, at);
  return recorded;
}

timed_event stream_ref::record_timed(call_site at) const {
  timed_event recorded{
      context_ref{detail::context_of(require_open(*this, "cuEventRecord", at), at)}, {}, at};
  record(recorded, at);
  return recorded;
}

void stream_ref::record_slow(event_ref event, detail::direct_status status, call_site at) const {
  if (status != detail::direct_status::not_called)
    detail::throw_driver_error(to_errc(status), "cuEventRecord", *this, at);
  CUstream_st* const stream = require_open(*this, "cuEventRecord", at);
  if (detail::any_capture_active()) detail::throw_if_awaited_in_capture(event, stream, at);
  check(driver(at).cuEventRecord(require_open(event, "cuEventRecord", at), stream), "cuEventRecord",
        *this, at);
  if (detail::any_capture_active()) detail::track_event_record(event.get(), stream);
}

namespace {

// Throws if a record or wait that uses the event at each launch of a graph failed with `answer`.
void check_external(abi::CUresult answer, const char* call, stream_ref stream, call_site at) {
  if (answer == abi::CUDA_ERROR_ILLEGAL_STATE) {
    detail::throw_error(errc::illegal_state, call, to_string(stream),
                        "the stream is not capturing, and weir::external is for captures; leave it "
                        "out, or begin a capture first",
                        at);
  }
  check(answer, call, stream, at);
}

}  // namespace

void stream_ref::record(event_ref event, external_t, call_site at) const {
  constexpr const char* call = "cuEventRecordWithFlags";
  CUstream_st* const stream = require_open(*this, call, at);
  check_external(driver(at).cuEventRecordWithFlags(require_open(event, call, at), stream,
                                                   abi::CU_EVENT_RECORD_EXTERNAL),
                 call, *this, at);
}

void stream_ref::wait(event_ref event, external_t, call_site at) const {
  constexpr const char* call = "cuStreamWaitEvent";
  CUstream_st* const stream = require_open(*this, call, at);
  check_external(driver(at).cuStreamWaitEvent(stream, require_open(event, call, at),
                                              abi::CU_EVENT_WAIT_EXTERNAL),
                 call, *this, at);
}

void stream_ref::wait_slow(event_ref event, detail::direct_status status, call_site at) const {
  if (status != detail::direct_status::not_called)
    detail::throw_driver_error(to_errc(status), "cuStreamWaitEvent", *this, at);
  CUstream_st* const stream = require_open(*this, "cuStreamWaitEvent", at);
  CUevent_st* const awaited = require_open(event, "cuStreamWaitEvent", at);
  detail::work_mark earlier_work;
  if (detail::any_capture_active())
    earlier_work = detail::prepare_join(stream, detail::capture_of_event(awaited), at);
  const abi::CUresult answer =
      driver(at).cuStreamWaitEvent(stream, awaited, abi::CU_EVENT_WAIT_DEFAULT);
  check_wait(answer, *this, event, at);
  if (detail::any_capture_active()) detail::track_join(stream, std::move(earlier_work));
}

void stream_ref::wait_slow(stream_ref awaited, detail::direct_status status, call_site at) const {
  if (status > detail::direct_status::success)
    detail::throw_driver_error(to_errc(status), "cuStreamWaitEvent", *this, at);
  CUstream_st* const stream = require_open(*this, "cuStreamWaitEvent", at);
  CUstream_st* const awaited_stream = require_open(awaited, "cuEventRecord", at);
  if (*this == awaited) return;
  detail::work_mark earlier_work;
  if (detail::any_capture_active())
    earlier_work = detail::prepare_join(stream, detail::capture_of(awaited_stream), at);
  CUevent_st* const recorded =
      status == detail::direct_status::not_called
          ? detail::record_thread_event(awaited_stream, at)
          : detail::finish_thread_event_record(awaited_stream,
                                               detail::thread_events.find_stale(awaited_stream),
                                               detail::decode_record_failure(status), at);
  check_wait(driver(at).cuStreamWaitEvent(stream, recorded, abi::CU_EVENT_WAIT_DEFAULT), *this,
             awaited, at);
  if (detail::any_capture_active()) detail::track_join(stream, std::move(earlier_work));
}

bool stream_ref::done_slow(detail::direct_status status, call_site at) const {
  return detail::query_done(*this, detail::stream_query, status, at);
}

errc stream_ref::status_slow() const noexcept {
  return detail::query_status(*this, detail::stream_query);
}

void stream_ref::sync(call_site at) const {
  CUstream_st* const stream = require_open(*this, "cuStreamSynchronize", at);
  detail::require_sync_allowed("cuStreamSynchronize", at);
  const detail::relaxed_capture_guard guard{*this, "cuStreamSynchronize", at};
  check(driver(at).cuStreamSynchronize(stream), "cuStreamSynchronize", *this, at);
  detail::throw_host_failure_if_any(stream);
}

bool stream_ref::sync_for_nanoseconds(long long timeout, call_site at) const {
  // Polls an event instead of the stream, because another thread may add work to the stream all the
  // time. Unlike a wait for a completion, this starts no thread and leaves no pending completion
  // after a timeout.
  CUstream_st* const stream = require_open(*this, "cuEventRecord", at);
  detail::require_sync_allowed("weir::stream::sync_for", at);
  const detail::relaxed_capture_guard guard{*this, "weir::stream::sync_for", at};
  const event_ref end{detail::record_thread_event(stream, at)};
  const errc answer = os::poll_until(timeout, errc::not_ready, [end] { return end.status(); });
  if (answer == errc::not_ready) return false;
  if (answer != errc::success) detail::throw_error(answer, "cuEventQuery", *this, at);
  detail::throw_host_failure_if_any(stream);
  return true;
}

unsigned long long stream_ref::id(call_site at) const {
  CUstream_st* const stream = require_open(*this, "cuStreamGetId", at);
  if (const auto properties = detail::find_stream_properties(stream)) return properties->id;
  // cuStreamGetId and cuStreamGetFlags invalidate the stream's capture; cuStreamGetCtx and
  // cuStreamGetPriority do not.
  detail::throw_if_capturing(stream, "cuStreamGetId", at);
  unsigned long long id = 0;
  check(driver(at).cuStreamGetId(stream, &id), "cuStreamGetId", *this, at);
  return id;
}

context_ref stream_ref::context(call_site at) const {
  return context_ref{detail::context_of(require_open(*this, "cuStreamGetCtx", at), at)};
}

weir::device stream_ref::device(call_site at) const {
  CUstream_st* const stream = require_open(*this, "cuStreamGetCtx", at);
  if (const auto properties = detail::find_stream_properties(stream))
    return weir::device{properties->device};
  return context(at).device(at);
}

int stream_ref::priority(call_site at) const {
  CUstream_st* const stream = require_open(*this, "cuStreamGetPriority", at);
  if (const auto properties = detail::find_stream_properties(stream)) return properties->priority;
  int priority = 0;
  check(driver(at).cuStreamGetPriority(stream, &priority), "cuStreamGetPriority", *this, at);
  return priority;
}

bool stream_ref::is_blocking(call_site at) const {
  CUstream_st* const stream = require_open(*this, "cuStreamGetFlags", at);
  if (detail::is_default(stream)) return true;
  if (const auto properties = detail::find_stream_properties(stream)) return properties->blocking;
  detail::throw_if_capturing(stream, "cuStreamGetFlags", at);
  unsigned flags = 0;
  check(driver(at).cuStreamGetFlags(stream, &flags), "cuStreamGetFlags", *this, at);
  return (flags & abi::CU_STREAM_NON_BLOCKING) == 0;
}

bool stream_ref::is_default() const noexcept { return detail::is_default(handle_); }

}  // namespace weir
