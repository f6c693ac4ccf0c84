// SPDX-License-Identifier: Apache-2.0
// reactor/event_point.cpp - events that mark points in a stream's work: recording them.
#include "reactor/event_point.hpp"

namespace weir::detail {

driver_result check_not_capturing(CUstream stream) {
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult answer = driver().cuStreamIsCapturing(stream, &capture);
  if (answer != CUDA_SUCCESS) return {static_cast<errc>(answer), "cuStreamIsCapturing"};
  if (capture == CU_STREAM_CAPTURE_STATUS_ACTIVE) return {errc::stream_capture_unsupported};
  if (capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED) return {errc::stream_capture_invalidated};
  return {};
}

driver_result record_event(CUevent& event, CUstream stream, CUcontext context,
                           unsigned long long context_id) {
  if (event == nullptr) {
    const driver_result acquired = event_pool::instance().acquire(context, context_id, event);
    if (acquired.code != errc::success) return acquired;
  }
  const CUresult answer = driver().cuEventRecord(event, stream);
  if (answer == CUDA_SUCCESS) return {};
  destroy_events({&event, 1});
  return {static_cast<errc>(answer), "cuEventRecord"};
}

}  // namespace weir::detail
