// SPDX-License-Identifier: Apache-2.0
// api/graph/graph_checks.hpp - validates graphs and executables before driver calls.
#pragma once

#include "api/capture/capture_checks.hpp"
#include "api/core/check.hpp"
#include "api/graph/graph_parts.hpp"

#include <weir/graph/graph.hpp>

namespace weir::detail {

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

// Like require_open(), but also refuses a graph that is being captured.
inline CUgraph require_not_capturing(graph_ref g, const char* call, call_site at) {
  const CUgraph handle = require_open(g, call, at);
  if (any_capture_active()) [[unlikely]] {
    throw_if_graph_captured(handle, call, at);
  }
  return handle;
}

// Destroys the graph of an owner that is being destroyed. If a capture records into the graph or
// into a part of it, the end of that capture destroys it.
void destroy_owned_graph(CUgraph graph) noexcept;

inline CUgraphExec require_open_exec(CUgraphExec exec, const char* call, call_site at) {
  const subject object = subject::graph_exec(exec);
  require_outside_host_function(call, object, at);
  if (exec == closed_handle<CUgraphExec_st>()) [[unlikely]] {
    throw_closed(call, object, at);
  }
  return exec;
}

// Returns the handle of a stream in which an executable can be launched.
inline CUstream require_launch_stream(stream_ref stream, const char* call, call_site at) {
  const CUstream handle = require_open(stream, call, at);
  if (any_capture_active()) [[unlikely]] {
    throw_if_stream_captured(handle, call, at);
  }
  return handle;
}

}  // namespace weir::detail
