// api/core/check.cpp - building and throwing errors, off the path of calls that succeed.
#include "api/core/check.hpp"

#include "api/capture/captures.hpp"
#include "api/core/hint.hpp"
#include "api/core/newer_driver_hint.hpp"
#include "api/core/unhandled_error.hpp"
#include "api/device/primary_context.hpp"
#include "driver/verify.hpp"
#include "os/forked_child.hpp"

#include <weir/core/error.hpp>
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>

#include <fmt/format.h>

#include <string>
#include <utility>

namespace weir::detail {
namespace {

// The handles are only ever printed; const_cast gives back the type that the driver has for them.
template <class Handle>
Handle* handle_of(const subject& on) noexcept {
  return static_cast<Handle*>(const_cast<void*>(on.handle));
}

// In verify mode whose failure it is that the call answered with.
std::string hint_in_verify_mode(errc code, const char* call) {
  switch (take_failure_phase()) {
    case failure_phase::by_call: break;
    case failure_phase::before_call:
      return "verify mode: this failed before the operation was queued, in work that weir did not "
             "queue or in another "
             "stream";
    case failure_phase::after_call:
      return "verify mode: the operation was queued and then failed, or it is the first one behind "
             "work that was not "
             "waited for";
  }
  return code == errc::call_requires_newer_driver ? newer_driver_hint(call) : hint_for(code, call);
}

}  // namespace

std::string to_text(subject on) {
  switch (on.what) {
    case subject::kind::none: return {};
    case subject::kind::stream: return to_string(stream_ref{handle_of<CUstream_st>(on)});
    case subject::kind::event: return to_string(event_ref{handle_of<CUevent_st>(on)});
    case subject::kind::device: return to_string(device{on.ordinal});
    case subject::kind::context: return to_string(context_ref{handle_of<CUctx_st>(on)});
    case subject::kind::pool:
      return to_string(memory_pool_ref{handle_of<CUmemPoolHandle_st>(on), device{on.ordinal}});
    case subject::kind::graph: return to_string(graph_ref{handle_of<CUgraph_st>(on)});
    case subject::kind::graph_exec:
      if (on.handle == closed_handle<void>()) return "closed executable graph";
      return fmt::format("executable graph {}", on.handle);
    case subject::kind::memory:
      if (on.handle == nullptr || on.handle == closed_handle<void>()) return "closed memory";
      return fmt::format("memory at {}", on.handle);
  }
  return {};
}

void throw_error(errc code, const char* call, subject on, call_site at) {
  if (code == errc::context_is_destroyed) forget_reset_contexts();
  throw error{code, call, to_text(on), hint_in_verify_mode(code, call), at};
}

void throw_error(errc code, const char* call, std::string object, std::string hint, call_site at) {
  if (code == errc::call_requires_newer_driver && hint.empty()) hint = newer_driver_hint(call);
  throw error{code, call, std::move(object), std::move(hint), at};
}

void throw_closed(const char* call, subject on, call_site at) {
  throw_error(errc::closed, call, on, at);
}

void throw_driver_error(errc answer, const char* call, subject on, call_site at) {
  if (any_capture_active()) attribute_failure(answer, call, on, at);
  throw_error(answer, call, on, at);
}

void report_unhandled(errc code, const char* call, subject on) noexcept {
  if (code == errc::deinitialized || in_forked_child()) return;
  if (code == errc::context_is_destroyed) forget_reset_contexts();
  if (any_capture_active()) attribute_failure(code, call, on, call_site{});
  try {
    throw error{code, call, to_text(on), hint_in_verify_mode(code, call), call_site{}};
  } catch (...) {
    call_unhandled_error_handler(std::current_exception());
  }
}

}  // namespace weir::detail
