// SPDX-License-Identifier: Apache-2.0
// weir/capture/capture_to.hpp - captures into an existing graph: one built by hand, or the body of
// a conditional node.
#pragma once

#include <weir/capture/capture.hpp>
#include <weir/capture/capture_frontier.hpp>
#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/graph/graph.hpp>
#include <weir/stream/stream.hpp>

#include <utility>

namespace weir {
namespace detail {

/// Begins a capture into a graph for a scope. If it is not finished, the destructor ends it and
/// removes the recorded nodes.
class WEIR_EXPORT scoped_capture_to : public scoped_capture {
 public:
  /// `owner` may be null. It is closed if the driver destroys the graph.
  scoped_capture_to(stream_ref stream, graph_ref target_graph, graph* owner,
                    frontier_list dependencies, capture_options options, call_site at);
  void finish();
};

}  // namespace detail

/// Like capture(), but adds the recorded operations to `target_graph`. The stream's first operation
/// depends on the nodes of `dependencies`; if there are none it becomes a root:
///
///   weir::graph g;
///   const auto a = g.add(weir::fill_parameters{x, 1.0f});
///   weir::capture_to(s, g, [&] { weir::copy(s, x, host); }, a);
///
/// During the capture, nodes may also be added to the graph by hand. Instantiating or closing the
/// graph, or removing a node, throws `illegal_state`. If the owner is destroyed during the capture,
/// the graph is destroyed when the capture ends; otherwise ownership does not change. An object
/// from which the graph was moved must also exist until the end.
///
/// If the body throws, or a stream was not joined (`stream_capture_unjoined`), the graph is
/// restored, except for the owners that it keeps. Two exceptions: a graph that allocates or frees
/// memory keeps the new nodes, and if a node cannot be removed, that goes to
/// set_unhandled_error_handler.
///
/// The driver destroys the graph if the capture is invalidated (`stream_capture_invalidated`), or
/// if a stream that joined directly through the driver was not joined. `target_graph` is then
/// closed; if the body moved the graph elsewhere, release() that object. If the body ends the
/// capture directly through the driver, capture_to() throws `illegal_state`. The graph then has the
/// recorded nodes. If that call failed, the driver has destroyed the graph: release() it.
///
/// Throws: as capture(). Throws with nothing begun: `illegal_state` if the graph is being captured
/// already, and `call_requires_newer_driver` before CUDA 12.3. Throws `invalid_value`, naming the
/// node, for an invalid node or one of another graph.
/// Driver: cuStreamBeginCaptureToGraph, cuGraphGetNodes, cuStreamGetCaptureInfo,
/// cuStreamEndCapture.
template <detail::capture_body Body>
void capture_to(stream_ref stream, graph& target_graph, Body&& body,
                frontier_list dependencies = {}, capture_options options = {},
                call_site at = call_site::current()) {
  detail::scoped_capture_to running{
      stream, target_graph.ref(), &target_graph, dependencies, options, at};
  detail::run_capture_body(std::forward<Body>(body), running.stream(), running.in_progress());
  running.finish();
}

/// Like capture_to() of an owned graph, for a borrowed graph such as the body of a conditional
/// node: capture_to(s, node.body(), ...).
///
/// A node that is not allowed in a body is reported at the end (`not_supported`, naming the node),
/// and the body is restored. Only memory allocations, which a driver never removes again, throw
/// `not_supported` at once; the capture stays valid. Meanwhile instantiating or closing the graph
/// that contains the body, or removing its node, throws `illegal_state`.
///
/// If the driver has destroyed the graph, the error says so; the owner must not destroy it. A graph
/// that contained it, through a conditional node or as a child graph, is then unusable, because
/// drivers of GPUs crash when it is used or destroyed. weir rejects its use (`illegal_state`), and
/// closing or destroying it leaks it together with the owners that it keeps. Executables that were
/// made from it before can still be launched.
///
/// Throws: as capture_to() of an owned graph.
/// Driver: cuStreamBeginCaptureToGraph, cuGraphGetNodes, cuStreamGetCaptureInfo,
/// cuStreamEndCapture.
template <detail::capture_body Body>
void capture_to(stream_ref stream, graph_ref target_graph, Body&& body,
                frontier_list dependencies = {}, capture_options options = {},
                call_site at = call_site::current()) {
  detail::scoped_capture_to running{stream, target_graph, nullptr, dependencies, options, at};
  detail::run_capture_body(std::forward<Body>(body), running.stream(), running.in_progress());
  running.finish();
}
template <detail::capture_body Body>
void capture_to(stream_ref stream, const graph& target_graph, Body&& body,
                frontier_list dependencies = {}, capture_options options = {},
                call_site at = call_site::current()) = delete;

/// Begins a capture into an owned graph, which is moved in; end_capture() returns it. The capture
/// owns the graph until then. If the capture ends without a graph, this one is destroyed. It is
/// instantiated in the context in which it was first captured.
///
/// Throws: as capture_to(). The caller then still has the graph; it is closed only if the driver
/// has destroyed it.
/// Driver: cuStreamBeginCaptureToGraph, cuStreamGetCaptureInfo.
WEIR_EXPORT void begin_capture_to(stream_ref stream, graph&& target_graph,
                                  frontier_list dependencies = {}, capture_options options = {},
                                  call_site at = call_site::current());

/// Begins a capture into a borrowed graph; end_capture_to() ends it. Ownership does not change.
///
/// Throws: as capture_to().
/// Driver: cuStreamBeginCaptureToGraph, cuStreamGetCaptureInfo.
WEIR_EXPORT void begin_capture_to(stream_ref stream, graph_ref target_graph,
                                  frontier_list dependencies = {}, capture_options options = {},
                                  call_site at = call_site::current());
void begin_capture_to(stream_ref stream, const graph& target_graph, frontier_list dependencies = {},
                      capture_options options = {}, call_site at = call_site::current()) = delete;

/// Ends a capture into a borrowed graph and returns that graph. For a capture that was started
/// directly through the driver it also returns the graph and leaves its ownership unchanged. If it
/// throws, the graph is treated as by capture_to().
///
/// Throws: as end_capture(), and `illegal_state` for a capture that end_capture() has to end.
/// Driver: cuStreamEndCapture.
WEIR_EXPORT graph_ref end_capture_to(stream_ref stream, call_site at = call_site::current());

}  // namespace weir
