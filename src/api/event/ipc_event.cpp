// api/event/ipc_event.cpp - making events for several processes, and opening those of others.
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

// Calls make(event) with the context current, and takes over what that gives.
template <class Make>
event adopt_new(context_ref context, event_options options, const char* call, call_site at,
                const Make& make) {
  const detail::subject on{context.get()};
  detail::require_outside_host_function(call, on, at);
  if (context.get() == nullptr) detail::throw_error(errc::invalid_context, call, on, at);
  static_cast<void>(
      context.device(at));  // asked for first: nothing may fail once the event is there
  const detail::make_current current{context.get(), at};
  abi::CUevent handle = nullptr;
  check(make(handle), call, on, at);
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
    : event_{create(context_ref{detail::primary_context(gpu, at)}, options, at)} {}

ipc_event::ipc_event(context_ref context, event_options options, call_site at)
    : event_{create(context, options, at)} {}

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
    detail::throw_error(errc::invalid_handle, call, detail::to_text(ref()),
                        "it was opened here: only the process that made an event gives it away",
                        at);
  }
  const detail::make_current current{context(at).get(), at};
  abi::CUipcEventHandle raw;
  check(driver().cuIpcGetEventHandle(&raw, mark), call, ref(), at);
  ipc_event_handle exported;
  std::memcpy(exported.bytes, &raw, sizeof exported.bytes);
  return exported;
}

weir::device ipc_event::device(call_site at) const { return event_.device(at); }
context_ref ipc_event::context(call_site at) const { return event_.context(at); }

}  // namespace weir
