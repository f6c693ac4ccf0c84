// api/core/check.cpp - building and throwing errors, off the path of calls that succeed.
#include "api/core/check.hpp"

#include "api/core/advice.hpp"
#include "api/capture/captures.hpp"
#include "api/core/newer_driver.hpp"
#include "api/device/primary_context.hpp"
#include "api/core/unraised.hpp"
#include "os/forked_child.hpp"
#include "driver/verify.hpp"

#include <weir/device/context.hpp>
#include <weir/core/error.hpp>
#include <weir/core/to_string.hpp>

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
std::string advice_now(errc code, const char* call) {
  switch (take_found()) {
    case found::by_the_call: break;
    case found::before_it:
      return "verify mode: this failed before the operation was queued, in work that weir did not queue or in another "
             "stream";
    case found::after_it:
      return "verify mode: the operation was queued and then failed, or it is the first one behind work that was not "
             "waited for";
  }
  return code == errc::call_requires_newer_driver ? advice_on_newer(call) : advice_on(code, call);
}

}  // namespace

std::string to_text(subject on) {
  switch (on.what) {
    case subject::kind::none: return {};
    case subject::kind::stream: return to_string(stream_ref{handle_of<CUstream_st>(on)});
    case subject::kind::event: return to_string(event_ref{handle_of<CUevent_st>(on)});
    case subject::kind::device: return to_string(device{on.ordinal});
    case subject::kind::context: return to_string(context_ref{handle_of<CUctx_st>(on)});
    case subject::kind::pool: return to_string(memory_pool_ref{handle_of<CUmemPoolHandle_st>(on), device{on.ordinal}});
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

void fail(errc code, const char* call, subject on, call_site at) {
  if (code == errc::context_is_destroyed) forget_reset_contexts();
  throw error{code, call, to_text(on), advice_now(code, call), at};
}

void fail(errc code, const char* call, std::string object, std::string advice, call_site at) {
  if (code == errc::call_requires_newer_driver && advice.empty()) advice = advice_on_newer(call);
  throw error{code, call, std::move(object), std::move(advice), at};
}

void fail_closed(const char* call, subject on, call_site at) { fail(errc::closed, call, on, at); }

void fail_as_answered(errc answer, const char* call, subject on, call_site at) {
  if (captures_open()) note_failure(answer, call, on, at);
  fail(answer, call, on, at);
}

void report_unraised(errc code, const char* call, subject on) noexcept {
  if (code == errc::deinitialized || in_forked_child()) return;
  if (code == errc::context_is_destroyed) forget_reset_contexts();
  if (captures_open()) note_failure(code, call, on, call_site{});
  try {
    throw error{code, call, to_text(on), advice_now(code, call), call_site{}};
  } catch (...) {
    raise_to_hook(std::current_exception());
  }
}

}  // namespace weir::detail
