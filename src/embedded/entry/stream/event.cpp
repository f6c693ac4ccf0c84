// entry/event.cpp - cuEvent*.
#include "embedded/entry/device_failure_or.hpp"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/entry/stream/open_event.hpp"
#include "embedded/model/capture/capture.hpp"

#include <utility>

namespace weir::embedded::entry {

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    constexpr unsigned known =
        CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    const bool timed_between_processes =
        (flags & (CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING)) == CU_EVENT_INTERPROCESS;
    model::context* context = nullptr;
    if (const CUresult status = current_context(context); status != CUDA_SUCCESS) return status;
    if (event == nullptr || (flags & ~known) != 0 || timed_between_processes)
      return CUDA_ERROR_INVALID_VALUE;
    return open_event(p, event,
                      [&](model::event& made) { return made.open(context->base(), flags); });
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
    model::stream* on = nullptr;
    if (const CUresult status = find_stream_for_work(p, stream, on); status != CUDA_SUCCESS)
      return status;
    model::event* recorded = nullptr;
    if (const CUresult status = find_event(p, event, recorded); status != CUDA_SUCCESS)
      return status;
    if ((flags & ~static_cast<unsigned>(CU_EVENT_RECORD_EXTERNAL)) != 0)
      return CUDA_ERROR_INVALID_VALUE;
    return model::record_event(*recorded, *on, flags);
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
    if (milliseconds == nullptr) return CUDA_ERROR_INVALID_HANDLE;  // so an H200 says it
    model::event* from = nullptr;
    model::event* to = nullptr;
    for (const auto& [handle, found] : {std::pair{start, &from}, std::pair{end, &to}}) {
      if (const CUresult status = find_event(p, handle, *found); status != CUDA_SUCCESS)
        return status;
      if (const CUresult status = model::check_event_not_captured(**found, false);
          status != CUDA_SUCCESS)
        return status;
      if (!(*found)->recorded() || !(*found)->timed()) return CUDA_ERROR_INVALID_HANDLE;
    }
    return model::event::elapsed(*from, *to, *milliseconds);
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}

}  // namespace weir::embedded::entry
