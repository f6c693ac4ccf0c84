// api/event/event.cpp - events: made, looked at, waited for, timed.
#include <weir/device/context.hpp>
#include <weir/event/event.hpp>

#include "api/capture/captures.hpp"
#include "api/completion/event_completion.hpp"
#include "api/core/check.hpp"
#include "api/core/sync_allowed.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/profiler/names.hpp"
#include "api/stream/backoff.hpp"

#include <utility>

namespace weir {

using detail::check;
using detail::driver;
using detail::require_open;

namespace {

// Another event may get its handle.
void forget_event_state(CUevent_st* handle) noexcept {
  detail::forget_name(detail::object_kind::event, handle);
  if (detail::any_capture_active()) [[unlikely]] {
    detail::untrack_event(handle);
  }
}

}  // namespace

bool event_ref::done_slow(errc status, call_site at) const {
  if (status != detail::not_called) detail::throw_driver_error(status, "cuEventQuery", *this, at);
  CUevent_st* const mark = require_open(*this, "cuEventQuery", at);
  const detail::relaxed_capture_guard guard{*this, "cuEventQuery", at};
  const abi::CUresult answer = driver().cuEventQuery(mark);
  if (answer == abi::CUDA_ERROR_NOT_READY) return false;
  check(answer, "cuEventQuery", *this, at);
  return true;
}

errc event_ref::try_done_slow() const noexcept {
  if (const errc unusable = detail::check_open(handle_); unusable != errc::success) return unusable;
  const detail::driver_table* const driver = detail::try_driver();
  if (driver == nullptr) return errc::not_initialized;
  try {
    const detail::relaxed_capture_guard guard{*this, "cuEventQuery", call_site{}};
    const errc answer = static_cast<errc>(driver->cuEventQuery(handle_));
    if (answer != errc::success && detail::any_capture_active()) {
      detail::attribute_failure(answer, "cuEventQuery", *this, call_site{});
    }
    return answer;
  } catch (...) {
    return detail::current_error_code();
  }
}

void event_ref::sync(call_site at) const {
  CUevent_st* const mark = require_open(*this, "cuEventSynchronize", at);
  detail::require_sync_allowed("cuEventSynchronize", at);
  const detail::relaxed_capture_guard guard{*this, "cuEventSynchronize", at};
  check(driver().cuEventSynchronize(mark), "cuEventSynchronize", *this, at);
}

bool event_ref::sync_for_nanoseconds(long long timeout, call_site at) const {
  require_open(*this, "cuEventQuery", at);
  detail::require_sync_allowed("weir::event::sync_for", at);
  const errc answer = detail::poll_until(timeout, [this] { return try_done(); });
  if (answer == errc::not_ready) return false;
  if (answer != errc::success) detail::throw_error(answer, "cuEventQuery", *this, at);
  return true;
}

event event::make(CUctx_st* context, event_options options, timing timing, call_site at) {
  const detail::subject on{context};
  detail::require_outside_host_function("cuEventCreate", on, at);
  if (context == detail::closed_handle<CUctx_st>()) detail::throw_closed("cuEventCreate", on, at);
  if (context == nullptr) detail::throw_error(errc::invalid_context, "cuEventCreate", on, at);
  const int device = detail::context_info_of(context, at).device;
  const unsigned flags =
      (options.blocking_sync ? abi::CU_EVENT_BLOCKING_SYNC : abi::CU_EVENT_DEFAULT) |
      (timing == timing::off ? abi::CU_EVENT_DISABLE_TIMING : abi::CU_EVENT_DEFAULT);
  const detail::make_current current{context, at};
  abi::CUevent handle = nullptr;
  check(driver().cuEventCreate(&handle, flags), "cuEventCreate", on, at);
  return event{handle, context, device, options};
}

event::event(weir::device gpu, event_options options, call_site at)
    : event{make(detail::primary_context(gpu, at), options, timing::off, at)} {}

event::event(context_ref context, event_options options, call_site at)
    : event{make(context.get(), options, timing::off, at)} {}

event event::adopt(CUevent_st* handle, context_ref context, event_options options, call_site at) {
  require_open(event_ref{handle}, "weir::event::adopt", at);
  if (handle == nullptr) {
    detail::throw_error(errc::invalid_handle, "weir::event::adopt", "null",
                        "there is no event to take over", at);
  }
  return event{handle, context.get(), context.device(at).ordinal(), options};
}

event::event(event&& other) noexcept
    : handle_{std::exchange(other.handle_, detail::closed_handle<CUevent_st>())},
      context_{other.context_},
      device_{other.device_},
      options_{other.options_} {}

event& event::operator=(event&& other) noexcept {
  event taken{std::move(other)};
  std::swap(handle_, taken.handle_);
  std::swap(context_, taken.context_);
  std::swap(device_, taken.device_);
  std::swap(options_, taken.options_);
  return *this;
}

event::~event() {
  if (closed()) return;
  forget_event_state(handle_);
  if (detail::leave_event_to_completion(handle_)) return;
  detail::destroy_or_defer([mark = ref()] {
    detail::report_if_failed(driver().cuEventDestroy_v2(mark.get()), "cuEventDestroy", mark);
  });
}

void event::close(call_site at) {
  if (closed()) return;
  CUevent_st* const handle = require_open(ref(), "cuEventDestroy", at);
  handle_ = detail::closed_handle<CUevent_st>();
  forget_event_state(handle);
  if (detail::leave_event_to_completion(handle)) return;
  check(driver().cuEventDestroy_v2(handle), "cuEventDestroy", event_ref{handle}, at);
}

CUevent_st* event::release(call_site at) {
  if (closed()) detail::throw_closed("weir::event::release", ref(), at);
  return std::exchange(handle_, detail::closed_handle<CUevent_st>());
}

weir::device event::device(call_site at) const {
  if (closed()) detail::throw_closed("weir::event::device", ref(), at);
  return weir::device{device_};
}

context_ref event::context(call_site at) const {
  if (closed()) detail::throw_closed("weir::event::context", ref(), at);
  return context_ref{context_};
}

timed_event::timed_event(weir::device gpu, event_options options, call_site at)
    : event_{event::make(detail::primary_context(gpu, at), options, event::timing::on, at)} {}

timed_event::timed_event(context_ref context, event_options options, call_site at)
    : event_{event::make(context.get(), options, event::timing::on, at)} {}

timed_event timed_event::adopt(CUevent_st* handle, context_ref context, event_options options,
                               call_site at) {
  return timed_event{event::adopt(handle, context, options, at), false};
}

weir::device timed_event::device(call_site at) const { return event_.device(at); }
context_ref timed_event::context(call_site at) const { return event_.context(at); }

}  // namespace weir
