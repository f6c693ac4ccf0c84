// SPDX-License-Identifier: Apache-2.0
// embedded/entry/stream/event.cpp - cuEvent*.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/capture/capture.hpp"

#include <utility>

namespace weir::embedded::entry {

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    constexpr unsigned valid_flags =
        CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    const bool timed_between_processes =
        (flags & (CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING)) == CU_EVENT_INTERPROCESS;
    model::context* context = nullptr;
    if (const CUresult status = current_context(context); status != CUDA_SUCCESS) return status;
    if (event == nullptr || (flags & ~valid_flags) != 0 || timed_between_processes)
      return CUDA_ERROR_INVALID_VALUE;
    return open_event(p, event,
                      [&](model::event& created) { return created.open(context->base(), flags); });
  });
}

CUresult cuEventDestroy_v2(CUevent event) {
  return guarded([&](model::process& p) -> CUresult {
    model::event* found = p.events.find(event);
    if (found != nullptr && !found->owner().alive()) return found->owner().status();
    return found != nullptr ? device_failure_or(model::event::destroy(*found, event))
                            : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_DEFAULT);
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  return guarded([&](model::process& p) -> CUresult {
    model::stream* target_stream = nullptr;
    if (const CUresult status = find_stream_for_work(p, stream, target_stream);
        status != CUDA_SUCCESS)
      return status;
    model::event* recorded = nullptr;
    if (const CUresult status = find_event(p, event, recorded); status != CUDA_SUCCESS)
      return status;
    if ((flags & ~static_cast<unsigned>(CU_EVENT_RECORD_EXTERNAL)) != 0)
      return CUDA_ERROR_INVALID_VALUE;
    return model::record_event(*recorded, *target_stream, flags);
  });
}

CUresult cuEventQuery(CUevent event) {
  return guarded([&](model::process& p) -> CUresult {
    model::event* found = nullptr;
    if (const CUresult status = find_event(p, event, found); status != CUDA_SUCCESS) return status;
    if (const CUresult status = model::check_event_not_captured(*found); status != CUDA_SUCCESS)
      return status;
    if (const CUresult status = model::check_unsafe_call(); status != CUDA_SUCCESS) return status;
    return found->query();
  });
}

CUresult cuEventSynchronize(CUevent event) {
  return guarded([&](model::process& p) -> CUresult {
    model::event* found = nullptr;
    if (const CUresult status = find_event(p, event, found); status != CUDA_SUCCESS) return status;
    if (const CUresult status = model::check_event_not_captured(*found); status != CUDA_SUCCESS)
      return status;
    if (const CUresult status = model::check_unsafe_call(); status != CUDA_SUCCESS) return status;
    return found->synchronize();
  });
}

CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  return guarded([&](model::process& p) -> CUresult {
    if (milliseconds == nullptr) return CUDA_ERROR_INVALID_HANDLE;  // the result code of an H200
    model::event* source_event = nullptr;
    model::event* target_event = nullptr;
    for (const auto& [handle, found] :
         {std::pair{start, &source_event}, std::pair{end, &target_event}}) {
      if (const CUresult status = find_event(p, handle, *found); status != CUDA_SUCCESS)
        return status;
      if (const CUresult status = model::check_event_not_captured(**found, false);
          status != CUDA_SUCCESS)
        return status;
      if (!(*found)->recorded() || !(*found)->timed()) return CUDA_ERROR_INVALID_HANDLE;
    }
    return model::event::elapsed(*source_event, *target_event, *milliseconds);
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}

}  // namespace weir::embedded::entry
