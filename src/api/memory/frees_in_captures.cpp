// api/memory/frees_in_captures.cpp - what becomes of frees in streams that capture.
#include "api/memory/frees_in_captures.hpp"

#include "api/capture/capture_joins.hpp"
#include "api/capture/capture_registry.hpp"
#include "api/stream/host_failures.hpp"
#include "api/stream/stream_state.hpp"
#include "api/memory/use_list.hpp"

namespace weir::detail {

bool is_in_capture(CUstream stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return driver().cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

bool refused_for_capture(CUresult answer, CUstream stream) noexcept {
  return answer == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED || answer == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
         answer == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || (answer != CUDA_SUCCESS && is_in_capture(stream));
}

unsigned long long id_of_capture(CUstream stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  const bool asked = ask_which_capture(stream, status, id) == CUDA_SUCCESS;
  return asked && status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? id : 0;
}

bool is_known_in_capture(CUstream stream, unsigned long long id) noexcept {
  bool found = false;
  capture_registry::instance().each(
      [&](const capture_record& record) { found |= record.what.id == id && record.has(stream); });
  return found;
}

CUstream stream_for_free(CUstream own, unsigned long long id) noexcept {
  try {
    CUstream origin = own;
    capture_registry::instance().each([&](const capture_record& record) {
      // What another thread's stream comes after may change while it is looked at.
      if (record.what.id == id && record.begun_in(record.what.origin) && record.what.thread == thread_number()) {
        origin = record.what.origin;
      }
    });
    capture_part part;
    if (origin == own || ask_capture(origin, part) != CUDA_SUCCESS) return own;
    if (part.status != CU_STREAM_CAPTURE_STATUS_ACTIVE || part.id != id) return own;
    return find_loose({joined_stream{own, nullptr, thread_number()}}, part, call_site{}).empty() ? origin : own;
  } catch (...) {  // without memory it is freed where its order is known
    return own;
  }
}

bool leads_across_captures(CUstream stream, CUstream own, const use_list* uses) noexcept {
  const bool captured = is_captured(stream);
  return is_captured(own) != captured || (uses != nullptr && uses->differs_in_capture(captured));
}

}  // namespace weir::detail
