// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_node.cpp - the point in a graph where the capture of a stream is.
#include <weir/capture/capture_node.hpp>

#include "api/capture/capture_query.hpp"

namespace weir::detail {

capture_point capture_point_of(stream_ref stream, call_site at) {
  const char* const hint =
      "the stream is not capturing; begin a capture, or add the node with graph_ref::add()";
  const stream_capture_info info = require_capturing(stream, "weir::capture_node", hint, at);
  capture_point point{graph_ref{info.graph}, {}};
  point.frontier.reserve(info.count);
  for (std::size_t i = 0; i < info.count; ++i)
    point.frontier.emplace_back(info.nodes[i], info.graph);
  return point;
}

}  // namespace weir::detail
