// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_abandon.hpp - ends captures without a result and restores their graphs.
#pragma once

#include "api/capture/capture_record.hpp"

#include <weir/stream/stream.hpp>

namespace weir::detail {

// Cancels the capture of `stream` with the id `capture`. Destroys its graph, or restores a borrowed
// one. Does nothing if the capture has ended.
void abandon_capture(stream_ref stream, unsigned long long capture) noexcept;

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

// Cleans up after a failed or cancelled capture. Removes the recorded nodes from a borrowed graph
// if `record` is not null; a driver may refuse to remove some. Destroys any other graph. If the
// driver has destroyed a borrowed graph, closes its owner and returns the graph, else null.
CUgraph discard_recorded(const active_capture& capture, const capture_record* record,
                         const driver_end_result& end) noexcept;

// Destroys the graph whose destruction was left to this capture, if there is one.
void destroy_ownerless(const capture_record& record) noexcept;

}  // namespace weir::detail
