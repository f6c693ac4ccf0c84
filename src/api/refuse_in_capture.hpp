// api/refuse_in_capture.hpp - what would break a capture of the stream is refused before the driver hears it.
#pragma once

#include "api/captures.hpp"
#include "api/check.hpp"
#include "api/guard.hpp"

#include <weir/call_site.hpp>

#include <atomic>

namespace weir::detail {

inline void refuse_in_capture(CUstream stream, const char* call, call_site at) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  check(driver().cuStreamIsCapturing(stream, &status), "cuStreamIsCapturing", stream_ref{stream}, at);
  if (status != CU_STREAM_CAPTURE_STATUS_NONE) [[unlikely]] {
    refuse_captured_stream(stream, call, at);
  }
}

// The same for what would break any capture, as ends of memory do, because they wait for all streams: refused while one that
// was begun through weir is open.
inline void refuse_in_captures(const char* call, subject on, call_site at) {
  if (open_captures.load(std::memory_order_relaxed) == 0) return;
  static_cast<void>(drop_ended_captures());
  if (open_captures.load(std::memory_order_relaxed) == 0) return;
  fail(errc::stream_capture_unsupported, call, to_text(on),
       "close it when no capture is open; its destruction waits for that by itself", at);
}

}  // namespace weir::detail
