// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_end.hpp - ends captures.
#pragma once

#include "driver/table.hpp"

#include <weir/core/call_site.hpp>
#include <weir/stream/stream.hpp>

namespace weir::detail {

// The graph of a capture and the context in which it is to be instantiated.
struct ended_capture {
  CUgraph graph = nullptr;
  CUcontext instantiate_context = nullptr;
};

// Ends the capture of `stream` and returns its graph. `scope` is the id of the capture that a scope
// began, or 0.
//
// If an end throws, a graph that the capture owns is destroyed. A borrowed graph is restored,
// unless the capture was invalidated or a stream that joined directly through the driver was not
// joined back. `is_destroyed` is set if the driver destroyed the borrowed graph.
[[nodiscard]] ended_capture end_active_capture(stream_ref stream, unsigned long long scope,
                                               call_site at);
ended_capture end_borrowed_capture(stream_ref stream, unsigned long long scope, bool& is_destroyed,
                                   call_site at);

}  // namespace weir::detail
