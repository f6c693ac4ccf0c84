// api/event/elapsed.cpp - the time between two events.
#include <weir/event/event.hpp>

#include "api/core/check.hpp"

namespace weir {
namespace {

abi::CUresult query_elapsed(timed_event_ref start, timed_event_ref end, float* milliseconds) {
  const detail::driver_table& driver = detail::driver();
  const abi::CUresult answer = driver.cuEventElapsedTime_v2(milliseconds, start.get(), end.get());
  if (answer != abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) return answer;
  return driver.cuEventElapsedTime(milliseconds, start.get(), end.get());
}

// The driver has one code for several mistakes. Asking each event for the time to itself tells
// which one it dislikes.
errc failure_reason(timed_event_ref start, timed_event_ref end) {
  float unused = 0;
  for (const timed_event_ref e : {start, end}) {
    if (query_elapsed(e, e, &unused) != abi::CUDA_ERROR_INVALID_HANDLE) continue;
    if (e.created_with_timing()) return errc::not_recorded;
    // Pending, so recorded: then it is the timing that it lacks. If it is complete, it may be
    // either.
    return event_ref{e}.try_done() == errc::not_ready ? errc::timing_disabled
                                                      : errc::invalid_handle;
  }
  // Each of them alone has a time.
  return errc::invalid_context;
}

}  // namespace

float elapsed(timed_event_ref start, timed_event_ref end, call_site at) {
  constexpr const char* call = "cuEventElapsedTime";
  detail::require_open(event_ref{start}, call, at);
  detail::require_open(event_ref{end}, call, at);
  float milliseconds = 0;
  const abi::CUresult answer = query_elapsed(start, end, &milliseconds);
  if (answer == abi::CUDA_ERROR_INVALID_HANDLE) [[unlikely]] {
    const errc why = failure_reason(start, end);
    if (why == errc::invalid_handle) {
      detail::throw_error(why, call, event_ref{start}, at);
    }
    detail::throw_error(why, call, event_ref{end}, at);
  }
  detail::check(answer, call, event_ref{end}, at);
  return milliseconds;
}

float sync_elapsed(timed_event_ref start, timed_event_ref end, call_site at) {
  event_ref{start}.sync(at);
  event_ref{end}.sync(at);
  return elapsed(start, end, at);
}

}  // namespace weir
