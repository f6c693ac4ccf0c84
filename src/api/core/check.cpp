// SPDX-License-Identifier: Apache-2.0
// api/core/check.cpp - builds and throws errors; not on the path of calls that succeed.
#include "api/core/check.hpp"

#include "api/capture/capture_checks.hpp"
#include "api/capture/capture_invalidation.hpp"
#include "api/core/hint.hpp"
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

// Returns the handle in the type that the driver uses. const_cast is harmless, because the handle
// is only printed.
template <class Handle>
Handle* handle_of(const subject& object) noexcept {
  return static_cast<Handle*>(const_cast<void*>(object.handle));
}

// Returns the hint for an error of a call on `object`. If verify mode has determined whether the
// failure happened before or after the call, the hint says so. If an earlier call has invalidated a
// capture, the hint names that call.
std::string hint_for_failure(errc code, const char* call, subject object) {
  switch (take_failure_phase()) {
    case failure_phase::by_call: break;
    case failure_phase::before_call:
      return "verify mode: the failure happened before the operation was queued, in another "
             "stream or in work that weir did not queue; check the work queued before this "
             "call";
    case failure_phase::after_call:
      return "verify mode: the operation was queued and then failed, or earlier work that was "
             "not waited for failed; check this operation and the work queued before it";
  }
  if (code == errc::call_requires_newer_driver) return newer_driver_hint(call);
  if (code == errc::stream_capture_invalidated) {
    if (std::string cause = explain_invalidated(object); !cause.empty()) return cause;
  }
  return hint_for(code, call);
}

}  // namespace

std::string to_text(subject object) {
  switch (object.type) {
    case subject::kind::none: return {};
    case subject::kind::stream: return to_string(stream_ref{handle_of<CUstream_st>(object)});
    case subject::kind::event: return to_string(event_ref{handle_of<CUevent_st>(object)});
    case subject::kind::device: return to_string(device{object.ordinal});
    case subject::kind::context: return to_string(context_ref{handle_of<CUctx_st>(object)});
    case subject::kind::pool:
      return to_string(
          memory_pool_ref{handle_of<CUmemPoolHandle_st>(object), device{object.ordinal}});
    case subject::kind::graph: return to_string(graph_ref{handle_of<CUgraph_st>(object)});
    case subject::kind::graph_exec:
      if (object.handle == closed_handle<void>()) return "closed executable graph";
      return fmt::format("executable graph {}", object.handle);
    case subject::kind::memory:
      if (object.handle == nullptr || object.handle == closed_handle<void>())
        return "closed memory";
      return fmt::format("memory at {}", object.handle);
  }
  return {};
}

void throw_error(errc code, const char* call, subject object, call_site at) {
  if (code == errc::context_is_destroyed) forget_reset_contexts();
  throw error{code, call, to_text(object), hint_for_failure(code, call, object), at};
}

void throw_error(errc code, const char* call, std::string object, std::string hint, call_site at) {
  if (code == errc::call_requires_newer_driver && hint.empty()) hint = newer_driver_hint(call);
  throw error{code, call, std::move(object), std::move(hint), at};
}

void throw_closed(const char* call, subject object, call_site at) {
  throw_error(errc::closed, call, object, at);
}

void throw_driver_error(errc answer, const char* call, subject object, call_site at) {
  if (any_capture_active()) attribute_failure(answer, call, object, at);
  throw_error(answer, call, object, at);
}

void report_unhandled(errc code, const char* call, subject object) noexcept {
  if (code == errc::deinitialized || os::in_forked_child()) return;
  if (code == errc::context_is_destroyed) forget_reset_contexts();
  if (any_capture_active()) attribute_failure(code, call, object, call_site{});
  try {
    throw error{code, call, to_text(object), hint_for_failure(code, call, object), call_site{}};
  } catch (...) {
    call_unhandled_error_handler(std::current_exception());
  }
}

void throw_for_part(CUresult answer, const char* call, subject object,
                    const error_part& failed_part, call_site at) {
  try {
    check(answer, call, object, at);
  } catch (const error& e) {
    throw error{e.result(), e.call(), fmt::format("{}, {}", e.object(), failed_part.name),
                failed_part.hint.empty() ? e.hint() : failed_part.hint, at};
  }
  __builtin_unreachable();  // the caller passes only failures
}

}  // namespace weir::detail
