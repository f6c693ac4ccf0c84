// api/capture/throw_if_capturing.hpp - what would break a capture of the stream is refused before
// the driver hears it.
#pragma once

#include "api/capture/captures.hpp"
#include "api/core/call_restrictions.hpp"
#include "api/core/check.hpp"

#include <weir/core/call_site.hpp>

namespace weir::detail {

inline void throw_if_capturing(CUstream stream, const char* call, call_site at) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  check(driver().cuStreamIsCapturing(stream, &status), "cuStreamIsCapturing", stream_ref{stream},
        at);
  if (status != CU_STREAM_CAPTURE_STATUS_NONE) [[unlikely]] {
    throw_if_stream_captured(stream, call, at);
  }
}

}  // namespace weir::detail
