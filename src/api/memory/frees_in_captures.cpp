// SPDX-License-Identifier: Apache-2.0
// api/memory/frees_in_captures.cpp - frees in streams that capture.
#include "api/memory/frees_in_captures.hpp"

#include "api/capture/capture_joins.hpp"
#include "api/capture/capture_registry.hpp"
#include "api/memory/pending_uses.hpp"
#include "api/stream/host_failures.hpp"
#include "api/stream/stream_state.hpp"

namespace weir::detail {

bool is_in_capture(CUstream stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver().cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

bool refused_for_capture(CUresult answer, CUstream stream) noexcept {
  return answer == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ||
         answer == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
         answer == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
         (answer != CUDA_SUCCESS && is_in_capture(stream));
}

unsigned long long capture_id_of(CUstream stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  const bool asked = query_capture_id(stream, status, id) == CUDA_SUCCESS;
  return asked && status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? id : 0;
}

bool is_participant_of_capture(CUstream stream, unsigned long long id) noexcept {
  bool found = false;
  capture_registry::instance().for_each([&](const capture_record& record) {
    found |= record.capture.id == id && record.has_stream(stream);
  });
  return found;
}

CUstream stream_for_free(CUstream memory_stream, unsigned long long id) noexcept {
  try {
    CUstream origin = memory_stream;
    capture_registry::instance().for_each([&](const capture_record& record) {
      // For streams of other threads the dependencies may change during the query.
      if (record.capture.id == id && record.has_origin(record.capture.origin) &&
          record.capture.thread == unique_thread_id()) {
        origin = record.capture.origin;
      }
    });
    stream_capture_info info;
    if (origin == memory_stream || try_query_capture(origin, info) != CUDA_SUCCESS)
      return memory_stream;
    if (info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE || info.id != id) return memory_stream;
    return find_unjoined({joined_stream{memory_stream, nullptr, unique_thread_id()}}, info,
                         call_site{})
                   .empty()
               ? origin
               : memory_stream;
  } catch (...) {  // out of memory: frees in the own stream, where the order is known
    return memory_stream;
  }
}

bool crosses_capture_boundary(CUstream stream, CUstream memory_stream,
                              const pending_uses* uses) noexcept {
  const bool captured = is_captured(stream);
  return is_captured(memory_stream) != captured ||
         (uses != nullptr && uses->differs_in_capture(captured));
}

}  // namespace weir::detail
