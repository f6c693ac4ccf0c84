// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_query.hpp - queries which capture a stream takes part in.
#pragma once

#include "driver/table.hpp"

#include <weir/core/call_site.hpp>
#include <weir/stream/stream.hpp>

#include <cstddef>

namespace weir::detail {

// The capture state of a stream as the driver reports it. The arrays belong to the driver and are
// valid until the next call on the capture.
struct stream_capture_info {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* edges = nullptr;  // null if the driver reports no edge data
  std::size_t count = 0;

  // Returns true if the stream has left the capture with the id `capture`, which may be 0 if it is
  // not known. An invalidated capture has no id and counts as open.
  [[nodiscard]] bool has_ended(unsigned long long capture) const noexcept {
    return status == CU_STREAM_CAPTURE_STATUS_NONE ||
           (status == CU_STREAM_CAPTURE_STATUS_ACTIVE && capture != 0 && id != capture);
  }
};

[[nodiscard]] CUresult try_query_capture(CUstream stream, stream_capture_info& info) noexcept;
[[nodiscard]] stream_capture_info query_capture(CUstream stream, call_site at);

// Returns the valid capture that the stream takes part in. Throws if there is none: illegal_state,
// with the hint, or stream_capture_invalidated.
[[nodiscard]] stream_capture_info require_capturing(stream_ref stream, const char* call,
                                                    const char* hint, call_site at);

// Queries only the status and the id. The driver stores nothing for this query, so the capturing
// thread may make its own queries at the same time.
[[nodiscard]] CUresult try_query_capture_id(CUstream stream, stream_capture_info& info) noexcept;
// Returns true if the stream has left the capture; false also if the query fails.
[[nodiscard]] bool has_ended(CUstream stream, unsigned long long capture) noexcept;

}  // namespace weir::detail
