// SPDX-License-Identifier: Apache-2.0
// api/graph/graph_checks.hpp - validates graphs and executables before driver calls.
#pragma once

#include "api/capture/capture_checks.hpp"
#include "api/core/check.hpp"
#include "api/graph/graph_parts.hpp"

#include <weir/graph/graph.hpp>

namespace weir::detail {

// Returns the handle of the graph for a driver call. Throws if the graph is closed or unusable
// (graph_parts.hpp), or this thread runs a host function.
inline CUgraph require_open(graph_ref g, const char* call, call_site at) {
  require_open(subject::graph(g.get()), call, at);
  if (is_unusable(g.get())) [[unlikely]] {
    fail_unusable_graph(g.get(), call, at);
  }
  return g.get();
}

// Like require_open(), but also throws if a capture records into the graph or a subgraph of it.
inline CUgraph require_not_capturing(graph_ref g, const char* call, call_site at) {
  const CUgraph handle = require_open(g, call, at);
  if (any_capture_active()) [[unlikely]] {
    throw_if_graph_captured(handle, call, at);
  }
  return handle;
}

// Destroys a graph that has lost its owner. If a capture records into it or into a subgraph of it,
// leaves the destruction to the end of that capture. Leaks an unusable graph (graph_parts.hpp).
void destroy_owned_graph(CUgraph graph) noexcept;

// Returns the handle of the executable for a driver call. Throws if it is closed or this thread
// runs a host function.
inline CUgraphExec require_open_exec(CUgraphExec exec, const char* call, call_site at) {
  require_open(subject::graph_exec(exec), call, at);
  return exec;
}

// Throws an error about `object` if the options exclude each other.
void require_valid_options(const instantiate_options& options, const char* call, subject object,
                           call_site at);

// Returns the handle of the stream for the launch of an executable. Throws if the stream is closed
// or this thread runs a host function. Also throws if the stream is capturing, unless all captures
// were started directly through the driver, which then refuses the launch.
inline CUstream require_launch_stream(stream_ref stream, const char* call, call_site at) {
  const CUstream handle = require_open(stream, call, at);
  if (any_capture_active()) [[unlikely]] {
    throw_if_stream_captured(handle, call, at);
  }
  return handle;
}

}  // namespace weir::detail
