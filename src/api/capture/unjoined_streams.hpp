// SPDX-License-Identifier: Apache-2.0
// api/capture/unjoined_streams.hpp - finds the streams that were not joined before the end of a
// capture, and joins them.
//
// A stream joins a capture in stream_ref::wait(), which calls track_join() (capture_registry.hpp).
#pragma once

#include "api/capture/capture_registry.hpp"

#include <weir/core/call_site.hpp>

#include <vector>

namespace weir::detail {

// Returns the streams in `joined` whose captured work does not precede the current frontier of the
// origin stream.
[[nodiscard]] std::vector<CUstream> find_unjoined(const std::vector<joined_stream>& joined,
                                                  const stream_capture_info& origin, call_site at);

// Joins all streams of the capture: makes the next operation of the origin stream depend on every
// node of the graph that has no dependents. The end of the capture then finds no unjoined stream.
void join_leaves(CUstream origin, CUgraph graph, call_site at);

}  // namespace weir::detail
