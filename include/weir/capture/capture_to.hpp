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

/// Begins a capture into an existing graph; finish() ends the capture. If finish() did not succeed,
/// the destructor of the base ends the capture and removes the recorded nodes.
class WEIR_EXPORT scoped_capture_to : public scoped_capture {
 public:
  /// `owner` is the object that owns `target_graph`, or null for a borrowed graph. If the driver
  /// destroys the graph, `owner` is closed.
  scoped_capture_to(stream_ref stream, graph_ref target_graph, graph* owner,
                    frontier_list dependencies, capture_options options, call_site at);
  void finish();
};

}  // namespace detail

/// Like capture(), but adds the recorded operations to `target_graph`. The first operation that the
/// stream records depends on the nodes of `dependencies`. If `dependencies` is empty, that
/// operation becomes a root of the graph:
///
///   weir::graph g;
///   const auto a = g.add(weir::fill_parameters{x, 1.0f});
///   weir::capture_to(s, g, [&] { weir::copy(s, x, host); }, a);
///
/// During the capture, nodes may also be added to the graph by hand. Instantiating or closing the
/// graph, or removing a node, throws `illegal_state`. If the owner is destroyed during the capture,
/// the graph is destroyed when the capture ends; otherwise ownership does not change. If the body
/// moves the graph to another object, `target_graph` itself must still exist until the capture
/// ends.
///
/// If the body throws, or a stream was not joined (`stream_capture_unjoined`), the recorded nodes
/// are removed again. Owners that the body gave to the graph stay in it. Nodes also stay in a graph
/// that allocates or frees memory, because drivers remove no node from such a graph. If a node
/// cannot be removed, the error goes to set_unhandled_error_handler.
///
/// The driver destroys the graph if the capture is invalidated (`stream_capture_invalidated`), or
/// if a stream that joined directly through the driver was not joined. `target_graph` is then
/// closed. If the body moved the graph to another object, call release() on that object. If the
/// body ends the capture directly through the driver, capture_to() throws `illegal_state`. The
/// graph then has the recorded nodes. If the driver's end of the capture failed, the driver has
/// destroyed the graph: call release() on the object that owns it.
///
/// Throws: as capture(). Throws before the capture begins: `illegal_state` if the graph is being
/// captured already, and `call_requires_newer_driver` with drivers before CUDA 12.3. Throws
/// `invalid_value`, naming the node, for an invalid node or one of another graph.
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
/// If the body of a conditional node gets a node that it may not have, the end of the capture
/// throws `not_supported`, naming the node, and removes the recorded nodes. Only a memory
/// allocation throws `not_supported` at once, because a driver never removes it again; the capture
/// stays valid. During the capture, instantiating or closing the graph that contains the body, or
/// removing the conditional node, throws `illegal_state`.
///
/// If the driver has destroyed the graph, the error says so; the owner must not destroy the graph
/// again. A graph that contained the destroyed graph, as a conditional body or as a child graph, is
/// then unusable. Drivers of GPUs crash when the containing graph is used or destroyed. weir
/// rejects uses of the containing graph (`illegal_state`). Closing or destroying it leaks it
/// together with the owners that it keeps. Executables that were instantiated from it before can
/// still be launched.
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

/// Begins a capture into an owned graph, which is moved in; end_capture() returns the graph. The
/// capture owns the graph until then. If end_capture() throws because the capture has failed, the
/// graph is destroyed. The graph is instantiated in the context in which it was first captured.
///
/// Throws: as capture_to(). The caller then still owns the graph; `target_graph` is closed only if
/// the driver has destroyed the graph.
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

/// Ends a capture into a borrowed graph and returns that graph. It can also end a capture that was
/// started directly through the driver; the ownership of the graph does not change. If the call
/// throws, the graph is left as capture_to() leaves it.
///
/// Throws: as end_capture(). Throws `illegal_state` for a capture that end_capture() has to end;
/// that capture stays valid.
/// Driver: cuStreamEndCapture.
WEIR_EXPORT graph_ref end_capture_to(stream_ref stream, call_site at = call_site::current());

}  // namespace weir
