// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_abandon.hpp - ends captures without a result and restores their graphs.
#pragma once

#include "api/capture/capture_record.hpp"

#include <weir/stream/stream.hpp>

namespace weir::detail {

// Cancels the capture of `stream` with the id `capture`. Destroys a graph that the capture owns.
// Removes the recorded nodes from a borrowed graph. If other code has ended the capture, only
// removes its record. Does nothing if another thread is ending it.
void abandon_capture(stream_ref stream, unsigned long long capture) noexcept;

// Called when the owner of `graph` is destroyed. If a capture records into the graph or into a
// subgraph of it (graph_parts.hpp), leaves the destruction to the end of that capture and returns
// true. Otherwise returns false.
[[nodiscard]] bool transfer_to_capture(CUgraph graph) noexcept;

// The result of end_in_driver(). `answer` is the result of the first attempt. `graph` is null if
// the driver has destroyed the graph, or the stream was not capturing.
struct driver_end_result {
  CUresult answer;
  CUgraph graph = nullptr;
};
// Ends the capture of the stream in the driver. Tries once more if that fails and leaves the
// capture open.
driver_end_result end_in_driver(CUstream stream) noexcept;

// Cleans up after a failed or cancelled capture. `end` is the result of its end in the driver.
//
// Removes the recorded nodes from a borrowed graph, unless the driver refuses that. Destroys a
// graph that the capture owns. Leaves a graph to other code that has ended the capture.
//
// Returns a borrowed graph that the driver has destroyed, after closing its owner. Otherwise
// returns null.
CUgraph discard_recorded(const capture_record& record, const driver_end_result& end) noexcept;

// Destroys `record.ownerless_graph`, the graph that transfer_to_capture() left to this capture.
// Does nothing if it is null.
void destroy_ownerless(const capture_record& record) noexcept;

}  // namespace weir::detail
