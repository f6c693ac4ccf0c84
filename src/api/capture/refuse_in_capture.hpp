// api/capture/refuse_in_capture.hpp - what would break a capture of the stream is refused before the driver hears it.
#pragma once

#include "api/capture/captures.hpp"
#include "api/core/check.hpp"
#include "api/core/guard.hpp"

#include <weir/core/call_site.hpp>

namespace weir::detail {

inline void refuse_in_capture(CUstream stream, const char* call, call_site at) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  check(driver().cuStreamIsCapturing(stream, &status), "cuStreamIsCapturing", stream_ref{stream}, at);
  if (status != CU_STREAM_CAPTURE_STATUS_NONE) [[unlikely]] {
    refuse_captured_stream(stream, call, at);
  }
}

}  // namespace weir::detail
