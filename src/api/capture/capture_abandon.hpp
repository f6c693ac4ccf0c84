// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_abandon.hpp - ends captures without a result and restores their graphs.
#pragma once

#include "api/capture/capture_registry.hpp"

#include <weir/stream/stream.hpp>

namespace weir::detail {

// Cancels the capture of `stream` with the id `scope`. Destroys its graph, or restores a borrowed
// one. Does nothing if the capture has ended. Returns true if the driver destroyed a borrowed
// graph.
bool abandon_capture(stream_ref stream, unsigned long long scope) noexcept;

// Called when the owner of `graph` is destroyed. If a capture records into the graph or into a part
// of it, leaves the destruction to the end of that capture and returns true. Otherwise returns
// false.
[[nodiscard]] bool transfer_to_capture(CUgraph graph) noexcept;

// Ends the capture in the driver. Retries once if the end fails and leaves the capture open.
// Returns the first result, and the graph if it still exists.
struct driver_end_result {
  CUresult answer;
  CUgraph graph = nullptr;
};
driver_end_result end_in_driver(CUstream stream) noexcept;

// Returns true if the stream is not capturing, or captures with an id other than `scope`. Pass 0
// for a capture that is not bound to a scope.
[[nodiscard]] bool has_ended(unsigned long long scope, CUstreamCaptureStatus status,
                             cuuint64_t id) noexcept;

// Cleans up after a failed or cancelled capture. `remaining_graph` is what its end returned, or
// null. Removes the recorded nodes from a borrowed graph if `record` is not null; a driver may
// refuse to remove some. Destroys any other graph. Returns the borrowed graph if the driver has
// destroyed it, else null.
[[nodiscard]] CUgraph discard_recorded(const active_capture& capture, const capture_record* record,
                                       CUgraph remaining_graph) noexcept;

// Destroys the graph whose destruction was left to a capture, unless the driver has destroyed it.
void destroy_ownerless(CUgraph ownerless_graph, CUgraph destroyed) noexcept;

}  // namespace weir::detail
