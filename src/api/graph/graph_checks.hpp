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
  const subject object = subject::graph(g.get());
  require_outside_host_function(call, object, at);
  if (g.get() == closed_handle<CUgraph_st>()) [[unlikely]] {
    throw_closed(call, object, at);
  }
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

// Called when the owner of `graph` is destroyed. Destroys the graph. If a capture records into it
// or into a subgraph of it, leaves the destruction to the end of that capture.
void destroy_owned_graph(CUgraph graph) noexcept;

// Returns the handle of the executable for a driver call. Throws if it is closed or this thread
// runs a host function.
inline CUgraphExec require_open_exec(CUgraphExec exec, const char* call, call_site at) {
  const subject object = subject::graph_exec(exec);
  require_outside_host_function(call, object, at);
  if (exec == closed_handle<CUgraphExec_st>()) [[unlikely]] {
    throw_closed(call, object, at);
  }
  return exec;
}

// Returns the handle of the stream for the launch of an executable. Throws if the stream is closed,
// captures for weir, or this thread runs a host function. The driver refuses other captures.
inline CUstream require_launch_stream(stream_ref stream, const char* call, call_site at) {
  const CUstream handle = require_open(stream, call, at);
  if (any_capture_active()) [[unlikely]] {
    throw_if_stream_captured(handle, call, at);
  }
  return handle;
}

}  // namespace weir::detail
