// api/memory/frees_in_captures.cpp - what becomes of frees in streams that capture.
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

bool is_known_in_capture(CUstream stream, unsigned long long id) noexcept {
  bool found = false;
  capture_registry::instance().for_each([&](const capture_record& record) {
    found |= record.capture.id == id && record.has_stream(stream);
  });
  return found;
}

CUstream stream_for_free(CUstream own, unsigned long long id) noexcept {
  try {
    CUstream origin = own;
    capture_registry::instance().for_each([&](const capture_record& record) {
      // What another thread's stream comes after may change while it is looked at.
      if (record.capture.id == id && record.has_origin(record.capture.origin) &&
          record.capture.thread == unique_thread_id()) {
        origin = record.capture.origin;
      }
    });
    stream_capture_info info;
    if (origin == own || try_query_capture(origin, info) != CUDA_SUCCESS) return own;
    if (info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE || info.id != id) return own;
    return find_unjoined({joined_stream{own, nullptr, unique_thread_id()}}, info, call_site{})
                   .empty()
               ? origin
               : own;
  } catch (...) {  // without memory it is freed where its order is known
    return own;
  }
}

bool crosses_capture_boundary(CUstream stream, CUstream own, const pending_uses* uses) noexcept {
  const bool captured = is_captured(stream);
  return is_captured(own) != captured || (uses != nullptr && uses->differs_in_capture(captured));
}

}  // namespace weir::detail
