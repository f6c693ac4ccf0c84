// SPDX-License-Identifier: Apache-2.0
// weir/capture/capture_node.hpp - adds a node at the point where the capture of a stream is.
#pragma once

#include <weir/capture/capture_frontier.hpp>
#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/nodes/graph_node.hpp>
#include <weir/stream/stream.hpp>

#include <vector>

namespace weir {
namespace detail {

/// The graph that a stream captures into, and the nodes on which its next operation depends.
struct capture_point {
  graph_ref graph;
  std::vector<graph_node> frontier;
};
/// Throws: `illegal_state` if the stream does not capture, `stream_capture_invalidated` if its
/// capture is invalidated.
[[nodiscard]] WEIR_EXPORT capture_point capture_point_of(stream_ref stream, call_site at);

}  // namespace detail

/// Adds a node to the graph that a stream captures, as an operation of the stream: the node comes
/// after the work captured so far, and the stream's later work after the node. Returns the typed
/// view of the node. `parameters` is as in graph_ref::add():
///
///   weir::graph g = weir::capture(s, [&](weir::capture_scope& in) {
///     weir::fill(in, x, 0);
///     weir::condition c{in.graph(), 1};
///     auto node = weir::capture_node(in, weir::if_parameters{c});
///     ...  // capture work into node.body()
///   });
///
/// The node waits for the end of the work before it, also where an operation of the stream would
/// not (a kernel that is launched programmatically).
///
/// Throws: `illegal_state` if the stream does not capture, `stream_capture_invalidated` if its
/// capture is invalidated, and as graph_ref::add(). If the call throws, nothing was added.
/// In a host function: throws `not_permitted`.
/// Thread safety: as operations of the stream.
/// Driver: cuStreamGetCaptureInfo, cuGraphAddNode, cuStreamUpdateCaptureDependencies.
template <detail::node_parameters Parameters>
typename Parameters::node_type capture_node(stream_ref stream, const Parameters& parameters,
                                            call_site at = call_site::current()) {
  const detail::capture_point point = detail::capture_point_of(stream, at);
  const typename Parameters::node_type node = point.graph.add(parameters, point.frontier, at);
  update_capture_dependencies(stream, node, dependency_update::set, at);
  return node;
}

}  // namespace weir
