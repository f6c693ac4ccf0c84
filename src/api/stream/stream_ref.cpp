// api/stream/stream_ref.cpp - streams: what they do, and what they are.
#include <weir/device/context.hpp>
#include <weir/stream/stream.hpp>

#include "api/capture/captures.hpp"
#include "api/core/check.hpp"
#include "api/completion/event_completion.hpp"
#include "api/stream/host_failures.hpp"
#include "api/stream/kept_event.hpp"
#include "api/core/may_wait.hpp"
#include "api/stream/patience.hpp"
#include "api/device/primary_context.hpp"
#include "api/capture/refuse_in_capture.hpp"
#include "api/stream/stream_state.hpp"

namespace weir {

using detail::check;
using detail::driver;
using detail::usable;

namespace {

// One that would order two captures breaks both: that of the stream, and that of what it waited for.
void check_wait(abi::CUresult answer, stream_ref waiter, detail::subject awaited, call_site at) {
  constexpr const char* call = "cuStreamWaitEvent";
  if (answer == abi::CUDA_ERROR_STREAM_CAPTURE_MERGE && detail::captures_open()) {
    detail::note_failure(errc::stream_capture_merge, call, awaited, at);
  }
  check(answer, call, waiter, at);
}

}  // namespace

stream_ref stream_ref::legacy() noexcept { return stream_ref{abi::CU_STREAM_LEGACY}; }
stream_ref stream_ref::per_thread() noexcept { return stream_ref{abi::CU_STREAM_PER_THREAD}; }

event stream_ref::record(call_site at) const {
  event mark{context_ref{detail::context_of(usable(*this, "cuEventRecord", at), at)}, {}, at};
  record(mark, at);
  return mark;
}

timed_event stream_ref::record_timed(call_site at) const {
  timed_event mark{context_ref{detail::context_of(usable(*this, "cuEventRecord", at), at)}, {}, at};
  record(mark, at);
  return mark;
}

void stream_ref::settle_record(event_ref mark, errc answered, call_site at) const {
  if (answered != detail::not_asked) detail::fail_as_answered(answered, "cuEventRecord", *this, at);
  CUstream_st* const stream = usable(*this, "cuEventRecord", at);
  if (detail::captures_open()) detail::refuse_awaited_in_capture(mark, stream, at);
  check(driver().cuEventRecord(usable(mark, "cuEventRecord", at), stream), "cuEventRecord", *this, at);
  if (detail::captures_open()) detail::note_record(mark.get(), stream);
}

void stream_ref::settle_wait(event_ref mark, errc answered, call_site at) const {
  if (answered != detail::not_asked) detail::fail_as_answered(answered, "cuStreamWaitEvent", *this, at);
  CUstream_st* const stream = usable(*this, "cuStreamWaitEvent", at);
  const abi::CUresult answer =
      driver().cuStreamWaitEvent(stream, usable(mark, "cuStreamWaitEvent", at), abi::CU_EVENT_WAIT_DEFAULT);
  check_wait(answer, *this, mark, at);
  if (detail::captures_open()) detail::note_join(stream);
}

void stream_ref::settle_wait(stream_ref other, errc answered, call_site at) const {
  if (answered > errc::success) detail::fail_as_answered(answered, "cuStreamWaitEvent", *this, at);
  CUstream_st* const stream = usable(*this, "cuStreamWaitEvent", at);
  CUstream_st* const awaited = usable(other, "cuEventRecord", at);
  if (*this == other) return;
  CUevent_st* const mark = answered == detail::not_asked
                               ? detail::record_kept_event(awaited, at)
                               : detail::settle_kept_record(awaited, detail::kept_events.last(awaited),
                                                            detail::answer_of_record(answered), at);
  check_wait(driver().cuStreamWaitEvent(stream, mark, abi::CU_EVENT_WAIT_DEFAULT), *this, other, at);
  if (detail::captures_open()) detail::note_join(stream);
}

bool stream_ref::settle_done(errc answered, call_site at) const {
  if (answered != detail::not_asked) detail::fail_as_answered(answered, "cuStreamQuery", *this, at);
  CUstream_st* const stream = usable(*this, "cuStreamQuery", at);
  const detail::harmless_look look{*this, "cuStreamQuery", at};
  const abi::CUresult answer = driver().cuStreamQuery(stream);
  if (answer == abi::CUDA_ERROR_NOT_READY) return false;
  check(answer, "cuStreamQuery", *this, at);
  return true;
}

errc stream_ref::ask_whether_done() const noexcept {
  if (const errc unusable = detail::usability(handle_); unusable != errc::success) return unusable;
  const detail::driver_table* const driver = detail::driver_if_any();
  if (driver == nullptr) return errc::not_initialized;
  try {
    const detail::harmless_look look{*this, "cuStreamQuery", call_site{}};
    const errc answer = static_cast<errc>(driver->cuStreamQuery(handle_));
    if (answer != errc::success && detail::captures_open()) {
      detail::note_failure(answer, "cuStreamQuery", *this, call_site{});
    }
    return answer;
  } catch (...) {
    return detail::code_of_exception();
  }
}

void stream_ref::sync(call_site at) const {
  CUstream_st* const stream = usable(*this, "cuStreamSynchronize", at);
  detail::may_wait("cuStreamSynchronize", at);
  const detail::harmless_look look{*this, "cuStreamSynchronize", at};
  check(driver().cuStreamSynchronize(stream), "cuStreamSynchronize", *this, at);
  detail::throw_host_failure_if_any(stream);
}

bool stream_ref::sync_for_nanoseconds(long long timeout, call_site at) const {
  // An event, not the stream itself: another thread may go on giving the stream work.
  CUstream_st* const stream = usable(*this, "cuEventRecord", at);
  detail::may_wait("weir::stream::sync_for", at);
  const detail::harmless_look look{*this, "weir::stream::sync_for", at};
  const event_ref mark{detail::record_kept_event(stream, at)};
  const errc answer = detail::ask_patiently(timeout, [mark] { return mark.try_done(); });
  if (answer == errc::not_ready) return false;
  if (answer != errc::success) detail::fail(answer, "cuEventQuery", *this, at);
  detail::throw_host_failure_if_any(stream);
  return true;
}

unsigned long long stream_ref::id(call_site at) const {
  CUstream_st* const stream = usable(*this, "cuStreamGetId", at);
  if (const auto known = detail::facts_of(stream)) return known->id;
  detail::refuse_in_capture(stream, "cuStreamGetId", at);
  unsigned long long id = 0;
  check(driver().cuStreamGetId(stream, &id), "cuStreamGetId", *this, at);
  return id;
}

context_ref stream_ref::context(call_site at) const {
  return context_ref{detail::context_of(usable(*this, "cuStreamGetCtx", at), at)};
}

weir::device stream_ref::device(call_site at) const {
  CUstream_st* const stream = usable(*this, "cuStreamGetCtx", at);
  if (const auto known = detail::facts_of(stream)) return weir::device{known->device};
  return context(at).device(at);
}

int stream_ref::priority(call_site at) const {
  CUstream_st* const stream = usable(*this, "cuStreamGetPriority", at);
  if (const auto known = detail::facts_of(stream)) return known->priority;
  int priority = 0;
  check(driver().cuStreamGetPriority(stream, &priority), "cuStreamGetPriority", *this, at);
  return priority;
}

bool stream_ref::is_blocking(call_site at) const {
  CUstream_st* const stream = usable(*this, "cuStreamGetFlags", at);
  if (detail::is_default(stream)) return true;
  if (const auto known = detail::facts_of(stream)) return known->blocking;
  detail::refuse_in_capture(stream, "cuStreamGetFlags", at);
  unsigned flags = 0;
  check(driver().cuStreamGetFlags(stream, &flags), "cuStreamGetFlags", *this, at);
  return (flags & abi::CU_STREAM_NON_BLOCKING) == 0;
}

bool stream_ref::is_default() const noexcept { return detail::is_default(handle_); }

context_ref stream::context(call_site at) const { return ref().context(at); }

}  // namespace weir
