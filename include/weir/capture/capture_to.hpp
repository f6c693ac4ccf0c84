// weir/capture/capture_to.hpp - recording into a graph that is there: one built by hand, or the
// body of a conditional node.
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

// Begins a capture into a graph for a scope. If it is not finished it is ended, and what it
// recorded taken out.
class WEIR_EXPORT scoped_capture_to {
 public:
  // `owner`, if there is one, is closed where the driver destroys the graph.
  scoped_capture_to(stream_ref stream, graph_ref into, graph* owner, frontier_list after,
                    capture_options options, call_site at);
  scoped_capture_to(const scoped_capture_to&) = delete;
  scoped_capture_to& operator=(const scoped_capture_to&) = delete;
  ~scoped_capture_to();
  void finish();
  [[nodiscard]] stream_ref stream() const noexcept { return stream_; }
  [[nodiscard]] graph_ref in_progress() const noexcept { return graph_; }

 private:
  void close_owner() noexcept;

  stream_ref stream_;
  graph_ref graph_;
  graph* owner_;
  unsigned long long id_ = 0;
  call_site at_;
  bool open_ = true;
};

}  // namespace detail

// As capture(), but what is recorded is added to `into`; what the stream does first comes after the
// nodes of `after`, or is a root where there are none:
//
//   weir::graph g;
//   const auto a = g.add(weir::fill_parameters{x, 1.0f});
//   weir::capture_to(s, g, [&] { weir::copy(s, x, host); }, a);
//
// Meanwhile nodes may be added to the graph by hand, too; it is neither instantiated nor closed
// (illegal_state), and nothing is removed from it. If its owner ends meanwhile, it goes with the
// end of the capture. Afterwards it is whose it was, with what it was made of. Strong: if the body
// throws, or a stream was not joined (stream_capture_unjoined), the graph is as it was before, but
// for what it keeps; only a graph that allocates or frees holds on to its nodes, and what cannot be
// taken out is told to set_unhandled_error_handler. There is one exception: if the capture breaks
// (stream_capture_invalidated), or a stream that joined directly through the driver was not joined,
// the driver destroys the graph: `into` is closed then; if the body has moved the graph elsewhere,
// release() that. And if the body ends the capture directly through the driver (illegal_state), the
// graph is what that end made of it: with what was recorded, or, where that end failed, destroyed;
// then release() it. An object that the graph was moved out of has to be there to the end, too.
// Refused, with nothing begun: what capture() refuses, a graph that is being captured already
// (illegal_state), and, by name, a node that is none or of another graph (invalid_value). With
// drivers before CUDA 12.3: call_requires_newer_driver. cuStreamBeginCaptureToGraph,
// cuGraphGetNodes, cuStreamGetCaptureInfo, cuStreamEndCapture.
template <detail::capture_body Body>
void capture_to(stream_ref stream, graph& into, Body&& body, frontier_list after = {},
                capture_options options = {}, call_site at = call_site::current()) {
  detail::scoped_capture_to running{stream, into.ref(), &into, after, options, at};
  detail::run_capture_body(std::forward<Body>(body), running.stream(), running.in_progress());
  running.finish();
}

// The same for a graph of somebody else, such as the body of a conditional node: capture_to(s,
// node.body(), ...). What cannot be in a body is found at the end (not_supported, with the node in
// the text), and the body is as it was; but memory, which a driver never takes out again, is
// refused where it is asked for (not_supported), and the capture lives on. What has the body as a
// part is neither instantiated nor closed meanwhile, nor is its node removed (illegal_state). Where
// the driver has destroyed the graph, the error says so, and its owner must not. What that was a
// part of, the graph of a conditional node or a child graph, is lost then, for drivers of GPUs
// crash when it is used or destroyed: weir refuses its use (illegal_state), and closing and
// destroying it leaves it behind, with the owners that it keeps: they are never destroyed.
// Executables that were made of it before are launched as ever.
template <detail::capture_body Body>
void capture_to(stream_ref stream, graph_ref into, Body&& body, frontier_list after = {},
                capture_options options = {}, call_site at = call_site::current()) {
  detail::scoped_capture_to running{stream, into, nullptr, after, options, at};
  detail::run_capture_body(std::forward<Body>(body), running.stream(), running.in_progress());
  running.finish();
}
template <detail::capture_body Body>
void capture_to(stream_ref stream, const graph& into, Body&& body, frontier_list after = {},
                capture_options options = {}, call_site at = call_site::current()) = delete;

// By hand. A graph of our own is moved in, and end_capture() gives it back: until then it is the
// capture's, and where there is no graph at the end, this one is gone with what it was. It is
// instantiated in the context that it was captured in first. If this throws, the caller still has
// it; closed only where the driver has destroyed it. Refusals as above.
// cuStreamBeginCaptureToGraph, cuStreamGetCaptureInfo.
WEIR_EXPORT void begin_capture_to(stream_ref stream, graph&& into, frontier_list after = {},
                                  capture_options options = {},
                                  call_site at = call_site::current());

// A graph of somebody else stays there, and end_capture_to() ends it.
WEIR_EXPORT void begin_capture_to(stream_ref stream, graph_ref into, frontier_list after = {},
                                  capture_options options = {},
                                  call_site at = call_site::current());
void begin_capture_to(stream_ref stream, const graph& into, frontier_list after = {},
                      capture_options options = {}, call_site at = call_site::current()) = delete;

// Ends it and gives the graph that it was begun with. Refused as end_capture() is, and
// (illegal_state) for captures that end_capture() has to end. What becomes of the graph if this
// throws: as with capture_to(). Of a capture that was begun past weir it gives the graph, and
// leaves it whose it is. cuStreamEndCapture.
WEIR_EXPORT graph_ref end_capture_to(stream_ref stream, call_site at = call_site::current());

}  // namespace weir
