// SPDX-License-Identifier: Apache-2.0
// api/event/ipc_event.cpp - interprocess events: created, exported and opened.
#include <weir/device/context.hpp>
#include <weir/event/ipc_event.hpp>

#include "api/core/check.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"

#include <cstring>

namespace weir {

using detail::check;
using detail::driver;

namespace {

// Calls make(handle) with the context current, which creates or opens an event. Returns the owner
// of that event.
template <class Make>
event adopt_new(context_ref context, event_options options, const char* call, call_site at,
                const Make& make) {
  const detail::subject object{context.get()};
  detail::require_outside_host_function(call, object, at);
  if (context.get() == nullptr) detail::throw_error(errc::invalid_context, call, object, at);
  static_cast<void>(
      context.device(at));  // queried first, since nothing may fail once the event exists
  const detail::make_current current{context.get(), at};
  abi::CUevent handle = nullptr;
  check(make(handle), call, object, at);
  return event::adopt(handle, context, options, at);
}

event create(context_ref context, event_options options, call_site at) {
  const unsigned flags =
      abi::CU_EVENT_INTERPROCESS | abi::CU_EVENT_DISABLE_TIMING |
      (options.blocking_sync ? abi::CU_EVENT_BLOCKING_SYNC : abi::CU_EVENT_DEFAULT);
  return adopt_new(context, options, "cuEventCreate", at,
                   [&](abi::CUevent& out) { return driver().cuEventCreate(&out, flags); });
}

}  // namespace

ipc_event::ipc_event(weir::device gpu, event_options options, call_site at)
    : event{create(context_ref{detail::primary_context(gpu, at)}, options, at)} {}

ipc_event::ipc_event(context_ref context, event_options options, call_site at)
    : event{create(context, options, at)} {}

ipc_event ipc_event::open(const ipc_event_handle& handle, context_ref context, call_site at) {
  abi::CUipcEventHandle raw;
  std::memcpy(&raw, handle.bytes, sizeof raw);
  return {adopt_new(context, {}, "cuIpcOpenEventHandle", at,
                    [&](abi::CUevent& out) { return driver().cuIpcOpenEventHandle(&out, raw); }),
          true};
}

ipc_event ipc_event::open(const ipc_event_handle& handle, weir::device gpu, call_site at) {
  return open(handle, context_ref{detail::primary_context(gpu, at)}, at);
}

ipc_event_handle ipc_event::handle(call_site at) const {
  constexpr const char* call = "cuIpcGetEventHandle";
  abi::CUevent const mark = detail::require_open(ref(), call, at);
  if (opened_) {
    detail::throw_error(
        errc::invalid_handle, call, detail::to_text(ref()),
        "the event was opened from a handle; get the handle in the process that created "
        "the event",
        at);
  }
  const detail::make_current current{context(at).get(), at};
  abi::CUipcEventHandle raw;
  check(driver().cuIpcGetEventHandle(&raw, mark), call, ref(), at);
  ipc_event_handle exported;
  std::memcpy(exported.bytes, &raw, sizeof exported.bytes);
  return exported;
}

}  // namespace weir
