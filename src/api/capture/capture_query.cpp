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
  return try_query_capture_id(stream, info) == CUDA_SUCCESS && info.has_ended(capture);
}

unsigned long long capture_id_of(CUstream stream) noexcept {
  stream_capture_info info;
  const bool is_active = try_query_capture_id(stream, info) == CUDA_SUCCESS &&
                         info.status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return is_active ? info.id : 0;
}

bool is_in_capture(CUstream stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver().cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace weir::detail
