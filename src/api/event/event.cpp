// SPDX-License-Identifier: Apache-2.0
// api/event/event.cpp - events: creation, queries, waits and elapsed time.
#include <weir/device/context.hpp>
#include <weir/event/event.hpp>

#include "api/capture/capture_checks.hpp"
#include "api/capture/capture_registry.hpp"
#include "api/capture/relaxed_capture_guard.hpp"
#include "api/completion/event_completion.hpp"
#include "api/core/check.hpp"
#include "api/core/sync_allowed.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/profiler/names.hpp"
#include "api/stream/work_query.hpp"
#include "os/poll_until.hpp"

#include <utility>

namespace weir {

using detail::check;
using detail::driver;
using detail::require_open;

namespace {

// Called when an event is destroyed. Removes what weir stores for the handle, because the driver
// may give the handle to another event.
void forget_event_state(CUevent_st* handle) noexcept {
  detail::forget_name(event_ref{handle});
  if (detail::any_capture_active()) [[unlikely]] {
    detail::untrack_event(handle);
  }
}

}  // namespace

bool event_ref::done_slow(detail::direct_status status, call_site at) const {
  return detail::query_done(*this, detail::event_query, status, at);
}

errc event_ref::status_slow() const noexcept {
  return detail::query_status(*this, detail::event_query);
}

void event_ref::sync(call_site at) const {
  CUevent_st* const mark = require_open(*this, "cuEventSynchronize", at);
  detail::require_sync_allowed("cuEventSynchronize", at);
  const detail::relaxed_capture_guard guard{*this, "cuEventSynchronize", at};
  check(driver(at).cuEventSynchronize(mark), "cuEventSynchronize", *this, at);
}

// Polls the event instead of waiting for its completion. After a timeout the completion would still
// be pending, and an event with a pending completion cannot be recorded in a capture.
bool event_ref::sync_for_nanoseconds(long long timeout, call_site at) const {
  require_open(*this, "cuEventQuery", at);
  detail::require_sync_allowed("weir::event::sync_for", at);
  const errc answer = os::poll_until(timeout, errc::not_ready, [this] { return status(); });
  if (answer == errc::not_ready) return false;
  if (answer != errc::success) detail::throw_error(answer, "cuEventQuery", *this, at);
  return true;
}

event event::make(CUctx_st* context, event_options options, unsigned flags, call_site at) {
  const detail::subject object{context};
  require_open(object, "cuEventCreate", at);
  if (context == nullptr) detail::throw_error(errc::invalid_context, "cuEventCreate", object, at);
  const int device = detail::context_info_of(context, at).device;
  if (options.blocking_sync) flags |= abi::CU_EVENT_BLOCKING_SYNC;
  const detail::make_current current{context, at};
  abi::CUevent handle = nullptr;
  check(driver(at).cuEventCreate(&handle, flags), "cuEventCreate", object, at);
  return event{handle, {context, device, options, (flags & abi::CU_EVENT_DISABLE_TIMING) == 0}};
}

event::event(weir::device gpu, event_options options, call_site at)
    : event{make(detail::primary_context(gpu, at), options, abi::CU_EVENT_DISABLE_TIMING, at)} {}

event::event(context_ref context, event_options options, call_site at)
    : event{make(context.get(), options, abi::CU_EVENT_DISABLE_TIMING, at)} {}

event event::adopt(CUevent_st* handle, context_ref context, event_options options, call_site at) {
  require_open(event_ref{handle}, "weir::event::adopt", at);
  if (handle == nullptr) {
    detail::throw_error(errc::invalid_handle, "weir::event::adopt", "null",
                        "the event is null; pass an existing event", at);
  }
  return event{handle, {context.get(), context.device(at).ordinal(), options, false}};
}

event::event(event&& other) noexcept
    : event_ref{other.exchange_handle(detail::closed_handle<CUevent_st>())},
      properties_{other.properties_} {}

event& event::operator=(event&& other) noexcept {
  event replacement{std::move(other)};
  replacement.exchange_handle(exchange_handle(replacement.get()));
  std::swap(properties_, replacement.properties_);
  return *this;
}

event::~event() {
  if (closed()) return;
  forget_event_state(get());
  if (detail::leave_event_to_completion(get())) return;
  detail::destroy_or_defer([mark = ref()] {
    detail::report_if_failed(driver().cuEventDestroy_v2(mark.get()), "cuEventDestroy", mark);
  });
}

void event::close(call_site at) {
  if (closed()) return;
  CUevent_st* const handle = require_open(ref(), "cuEventDestroy", at);
  exchange_handle(detail::closed_handle<CUevent_st>());
  forget_event_state(handle);
  if (detail::leave_event_to_completion(handle)) return;
  check(driver().cuEventDestroy_v2(handle), "cuEventDestroy", event_ref{handle}, at);
}

CUevent_st* event::release(call_site at) {
  if (closed()) detail::throw_closed("weir::event::release", ref(), at);
  return exchange_handle(detail::closed_handle<CUevent_st>());
}

weir::device event::device(call_site at) const {
  if (closed()) detail::throw_closed("weir::event::device", ref(), at);
  return weir::device{properties_.device};
}

context_ref event::context(call_site at) const {
  if (closed()) detail::throw_closed("weir::event::context", ref(), at);
  return context_ref{properties_.context};
}

timed_event::timed_event(weir::device gpu, event_options options, call_site at)
    : event{make(detail::primary_context(gpu, at), options, abi::CU_EVENT_DEFAULT, at)} {}

timed_event::timed_event(context_ref context, event_options options, call_site at)
    : event{make(context.get(), options, abi::CU_EVENT_DEFAULT, at)} {}

timed_event timed_event::adopt(CUevent_st* handle, context_ref context, event_options options,
                               call_site at) {
  return timed_event{event::adopt(handle, context, options, at)};
}

namespace {

abi::CUresult query_elapsed(timed_event_ref start, timed_event_ref end, float* milliseconds) {
  const detail::driver_table& driver = detail::driver();
  const abi::CUresult answer = driver.cuEventElapsedTime_v2(milliseconds, start.get(), end.get());
  if (answer != abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) return answer;
  return driver.cuEventElapsedTime(milliseconds, start.get(), end.get());
}

// An event that has no time, and why.
struct elapsed_failure {
  errc code;
  event_ref event;
};

// Returns why an event cannot be measured against itself, which the driver refused with
// INVALID_HANDLE.
errc invalid_handle_reason(timed_event_ref e) {
  if (e.created_with_timing()) return errc::not_recorded;
  // A pending event was recorded, so it must have been created without timing. A completed event
  // may have either fault.
  return event_ref{e}.status() == errc::not_ready ? errc::timing_disabled : errc::invalid_handle;
}

// Returns why the driver refused to measure the time between two events. Its answer names neither
// event, and INVALID_HANDLE stands for several mistakes. Measuring each event against itself shows
// which event is at fault.
elapsed_failure find_failure(abi::CUresult answer, timed_event_ref start, timed_event_ref end) {
  float unused = 0;
  for (const timed_event_ref e : {start, end}) {
    const abi::CUresult alone = query_elapsed(e, e, &unused);
    if (alone == abi::CUDA_ERROR_INVALID_HANDLE) return {invalid_handle_reason(e), e};
    if (alone != abi::CUDA_SUCCESS) return {static_cast<errc>(alone), e};
  }
  // Each event can be measured alone, so they belong to different contexts.
  if (answer == abi::CUDA_ERROR_INVALID_HANDLE) return {errc::invalid_context, end};
  return {static_cast<errc>(answer), end};
}

}  // namespace

float elapsed(timed_event_ref start, timed_event_ref end, call_site at) {
  constexpr const char* call = "cuEventElapsedTime";
  detail::require_open(event_ref{start}, call, at);
  detail::require_open(event_ref{end}, call, at);
  float milliseconds = 0;
  const abi::CUresult answer = query_elapsed(start, end, &milliseconds);
  if (answer != abi::CUDA_SUCCESS) [[unlikely]] {
    const elapsed_failure failure = find_failure(answer, start, end);
    detail::throw_driver_error(failure.code, call, failure.event, at);
  }
  return milliseconds;
}

float sync_elapsed(timed_event_ref start, timed_event_ref end, call_site at) {
  event_ref{start}.sync(at);
  event_ref{end}.sync(at);
  return elapsed(start, end, at);
}

}  // namespace weir
