// SPDX-License-Identifier: Apache-2.0
// embedded/entry/stream/event.cpp - cuEvent*.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/capture/capture.hpp"

#include <utility>

namespace weir::embedded::entry {

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return guarded_outside_host_functions([&] {
    constexpr unsigned valid_flags =
        CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    const bool timed_between_processes =
        (flags & (CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING)) == CU_EVENT_INTERPROCESS;
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    if (event == nullptr || (flags & ~valid_flags) != 0 || timed_between_processes)
      return CUDA_ERROR_INVALID_VALUE;
    return open_object(model::this_process().events, event,
                       [&](model::event& created) { return created.open(context->base(), flags); });
  });
}

CUresult cuEventDestroy_v2(CUevent event) {
  return guarded([&] {
    model::event* found = model::this_process().events.find(event);
    if (found != nullptr && !found->owner().alive()) return found->owner().status();
    return found != nullptr ? device_failure_or(model::event::destroy(*found, event))
                            : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_DEFAULT);
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  return guarded(with_stream_for_work(stream, [&](model::stream& target_stream) {
    model::event* recorded = nullptr;
    if (const CUresult error = find_event(event, recorded)) return error;
    if ((flags & ~static_cast<unsigned>(CU_EVENT_RECORD_EXTERNAL)) != 0)
      return CUDA_ERROR_INVALID_VALUE;
    return model::record_event(*recorded, target_stream, flags);
  }));
}

namespace {

// Runs body(event) for a call that queries an event or waits for it. Returns an error if a capture
// prohibits the call.
template <class Body>
CUresult with_awaited_event(CUevent handle, Body body) {
  return guarded([&] {
    model::event* found = nullptr;
    if (const CUresult error = find_event(handle, found)) return error;
    if (const CUresult error = model::check_event_not_captured(*found)) return error;
    if (const CUresult error = model::check_unsafe_call()) return error;
    return body(*found);
  });
}

}  // namespace

CUresult cuEventQuery(CUevent event) {
  return with_awaited_event(event, [](model::event& found) { return found.query(); });
}

CUresult cuEventSynchronize(CUevent event) {
  return with_awaited_event(event, [](model::event& found) { return found.synchronize(); });
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  return guarded([&] {
    if (milliseconds == nullptr) return CUDA_ERROR_INVALID_HANDLE;  // an H200 returns this code
    model::event* start_event = nullptr;
    model::event* end_event = nullptr;
    for (const auto& [handle, found] :
         {std::pair{start, &start_event}, std::pair{end, &end_event}}) {
      if (const CUresult error = find_event(handle, *found)) return error;
      if (const CUresult error =
              model::check_event_not_captured(**found, model::capture_effect::keep))
        return error;
      if (!(*found)->recorded() || !(*found)->timed()) return CUDA_ERROR_INVALID_HANDLE;
    }
    return model::event::elapsed(*start_event, *end_event, *milliseconds);
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}

}  // namespace weir::embedded::entry
