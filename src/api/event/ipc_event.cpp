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

constexpr unsigned ipc_flags = abi::CU_EVENT_INTERPROCESS | abi::CU_EVENT_DISABLE_TIMING;

}  // namespace

ipc_event::ipc_event(weir::device gpu, event_options options, call_site at)
    : event{make(detail::primary_context(gpu, at), options, ipc_flags, at)} {}

ipc_event::ipc_event(context_ref context, event_options options, call_site at)
    : event{make(context.get(), options, ipc_flags, at)} {}

ipc_event ipc_event::open(const ipc_event_handle& handle, context_ref context, call_site at) {
  constexpr const char* call = "cuIpcOpenEventHandle";
  const detail::subject object{context.get()};
  detail::require_outside_host_function(call, object, at);
  if (context.get() == nullptr) detail::throw_error(errc::invalid_context, call, object, at);
  // Lets a query of the device fail here, because nothing may fail once the event exists.
  static_cast<void>(context.device(at));
  abi::CUipcEventHandle raw;
  std::memcpy(&raw, handle.bytes, sizeof raw);
  const detail::make_current current{context.get(), at};
  abi::CUevent opened = nullptr;
  check(driver().cuIpcOpenEventHandle(&opened, raw), call, object, at);
  return {event::adopt(opened, context, {}, at), true};
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
