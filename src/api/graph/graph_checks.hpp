// api/graph/graph_checks.hpp - graphs and executables as operands of driver calls.
#pragma once

#include "api/capture/captures.hpp"
#include "api/core/check.hpp"
#include "api/graph/graph_parts.hpp"

#include <weir/graph/graph.hpp>

namespace weir::detail {

inline CUgraph require_open(graph_ref g, const char* call, call_site at) {
  const subject on = subject::graph(g.get());
  require_outside_host_function(call, on, at);
  if (g.get() == closed_handle<CUgraph_st>()) [[unlikely]] {
    throw_closed(call, on, at);
  }
  if (is_lost(g.get())) [[unlikely]] {
    fail_lost_graph(g.get(), call, at);
  }
  return g.get();
}

// The same for calls on what the graph is: one that is being captured is not that yet.
inline CUgraph require_not_capturing(graph_ref g, const char* call, call_site at) {
  const CUgraph handle = require_open(g, call, at);
  if (any_capture_active()) [[unlikely]] {
    throw_if_graph_captured(handle, call, at);
  }
  return handle;
}

// For owners that end: destroys it, now or with the end of the capture that records into it or into
// a part of it.
void destroy_owned_graph(CUgraph graph) noexcept;

inline CUgraphExec require_open_exec(CUgraphExec exec, const char* call, call_site at) {
  const subject on = subject::graph_exec(exec);
  require_outside_host_function(call, on, at);
  if (exec == closed_handle<CUgraphExec_st>()) [[unlikely]] {
    throw_closed(call, on, at);
  }
  return exec;
}

// The stream that an executable goes to.
inline CUstream require_launch_stream(stream_ref stream, const char* call, call_site at) {
  const CUstream handle = require_open(stream, call, at);
  if (any_capture_active()) [[unlikely]] {
    throw_if_stream_captured(handle, call, at);
  }
  return handle;
}

}  // namespace weir::detail
