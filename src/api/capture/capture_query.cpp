// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_query.cpp - queries which capture a stream takes part in.
#include "api/capture/capture_query.hpp"

#include "api/core/check.hpp"

#include <weir/core/to_string.hpp>

namespace weir::detail {

CUresult try_query_capture(CUstream stream, stream_capture_info& info) noexcept {
  const CUresult answer = driver().cuStreamGetCaptureInfo_v3(
      stream, &info.status, &info.id, &info.graph, &info.nodes, &info.edges, &info.count);
  if (answer != CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) return answer;
  return driver().cuStreamGetCaptureInfo_v2(stream, &info.status, &info.id, &info.graph,
                                            &info.nodes, &info.count);
}

stream_capture_info query_capture(CUstream stream, call_site at) {
  stream_capture_info info;
  check(try_query_capture(stream, info), "cuStreamGetCaptureInfo", stream_ref{stream}, at);
  return info;
}

stream_capture_info require_capturing(stream_ref stream, const char* call, const char* hint,
                                      call_site at) {
  const stream_capture_info info = query_capture(require_open(stream, call, at), at);
  if (info.status == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
    throw_error(errc::stream_capture_invalidated, call, stream, at);
  if (info.status == CU_STREAM_CAPTURE_STATUS_NONE)
    throw_error(errc::illegal_state, call, to_string(stream), hint, at);
  return info;
}

CUresult try_query_capture_id(CUstream stream, stream_capture_info& info) noexcept {
  const CUresult answer = driver().cuStreamGetCaptureInfo_v3(stream, &info.status, &info.id,
                                                             nullptr, nullptr, nullptr, nullptr);
  if (answer != CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) return answer;
  return driver().cuStreamGetCaptureInfo_v2(stream, &info.status, &info.id, nullptr, nullptr,
                                            nullptr);
}

bool has_ended(CUstream stream, unsigned long long capture) noexcept {
  stream_capture_info info;
  switch (try_query_capture_id(stream, info)) {
    case CUDA_SUCCESS: return info.has_ended(capture);
    // The stream or its context was destroyed, which ends the capture.
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_INVALID_CONTEXT: return true;
    default: return false;
  }
}

unsigned long long capture_of(CUstream stream) noexcept {
  stream_capture_info info;
  if (try_query_capture_id(stream, info) != CUDA_SUCCESS) return no_capture;
  if (info.status == CU_STREAM_CAPTURE_STATUS_INVALIDATED) return invalidated_capture;
  return info.status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? info.id : no_capture;
}

unsigned long long capture_id_of(CUstream stream) noexcept {
  const unsigned long long id = capture_of(stream);
  return id != invalidated_capture ? id : no_capture;
}

bool is_in_capture(CUstream stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver().cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace weir::detail
