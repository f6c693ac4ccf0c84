// SPDX-License-Identifier: Apache-2.0
// api/memory/frees_in_captures.cpp - frees in streams that capture.
#include "api/memory/frees_in_captures.hpp"

#include "api/capture/capture_registry.hpp"
#include "api/capture/unjoined_streams.hpp"
#include "api/memory/pending_uses.hpp"
#include "api/stream/host_failures.hpp"
#include "api/stream/stream_state.hpp"

namespace weir::detail {

bool refused_for_capture(CUresult answer, CUstream stream) noexcept {
  return answer == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ||
         answer == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
         answer == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
         (answer != CUDA_SUCCESS && is_in_capture(stream));
}

bool is_participant_of_capture(CUstream stream, unsigned long long id) noexcept {
  const auto capture = capture_registry::instance().find_if([&](const capture_record& record) {
    return record.capture.id == id && record.has_stream(stream);
  });
  return capture.has_value();
}

CUstream stream_for_free(CUstream memory_stream, unsigned long long id) noexcept {
  // Considers only a capture that the calling thread began. Another thread may change the
  // dependencies of any other capture during the query.
  const auto capture = capture_registry::instance().find_if([&](const capture_record& record) {
    return record.capture.id == id && record.capture.thread == unique_thread_id();
  });
  if (!capture || capture->origin == memory_stream) return memory_stream;
  stream_capture_info info;
  if (try_query_capture(capture->origin, info) != CUDA_SUCCESS || info.has_ended(id) ||
      info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
    return memory_stream;
  try {
    const joined_stream joined{memory_stream, nullptr, unique_thread_id()};
    return find_unjoined({joined}, info, call_site{}).empty() ? capture->origin : memory_stream;
  } catch (...) {  // memory is exhausted; a free in memory_stream is always in order
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
