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

  // Returns true if the stream no longer takes part in the capture with the id `capture`. If
  // `capture` is 0, the id is not known, and any valid capture of the stream counts as that
  // capture. The driver reports no id for an invalidated capture, so it also counts as that
  // capture.
  [[nodiscard]] bool has_ended(unsigned long long capture) const noexcept {
    return status == CU_STREAM_CAPTURE_STATUS_NONE ||
           (status == CU_STREAM_CAPTURE_STATUS_ACTIVE && capture != 0 && id != capture);
  }
};

// Queries the capture state of the stream. Returns the driver's result.
[[nodiscard]] CUresult try_query_capture(CUstream stream, stream_capture_info& info) noexcept;
// Like try_query_capture(), but returns the state and throws the driver's error.
[[nodiscard]] stream_capture_info query_capture(CUstream stream, call_site at);

// Returns the state of the valid capture that the stream takes part in. Throws illegal_state with
// `hint` if the stream is not capturing, and stream_capture_invalidated if its capture is invalid.
[[nodiscard]] stream_capture_info require_capturing(stream_ref stream, const char* call,
                                                    const char* hint, call_site at);

// Like try_query_capture(), but queries only the status and the id. Does not ask for the
// arrays of dependencies, which are valid only until the next query. Therefore any thread may call
// it while the capturing thread makes its own queries.
[[nodiscard]] CUresult try_query_capture_id(CUstream stream, stream_capture_info& info) noexcept;
// Returns true if the stream no longer takes part in the capture with the id `capture`, or no
// longer exists. Returns false if the query fails for another reason.
[[nodiscard]] bool has_ended(CUstream stream, unsigned long long capture) noexcept;
// Returns the id of the valid capture that the stream takes part in; 0 if there is none or the
// query fails.
[[nodiscard]] unsigned long long capture_id_of(CUstream stream) noexcept;
// Results of capture_of() that are not ids. The driver's ids are never 0, and it counts them up.
inline constexpr unsigned long long no_capture = 0;
inline constexpr unsigned long long invalidated_capture = ~0ull;
// Returns the id of the valid capture that the stream takes part in, no_capture, or
// invalidated_capture. Returns no_capture also if the query fails. Two streams with the same id
// take part in one capture.
[[nodiscard]] unsigned long long capture_of(CUstream stream) noexcept;
// Returns true if the stream is in a capture, valid or invalidated. Returns false also if the query
// fails.
[[nodiscard]] bool is_in_capture(CUstream stream) noexcept;

}  // namespace weir::detail
