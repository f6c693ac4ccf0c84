// api/graph/graph_use.hpp - graphs and executables as operands of driver calls.
#pragma once

#include "api/capture/captures.hpp"
#include "api/core/check.hpp"
#include "api/graph/graph_parts.hpp"

#include <weir/graph/graph.hpp>

namespace weir::detail {

inline CUgraph usable(graph_ref g, const char* call, call_site at) {
  const subject on = subject::graph(g.get());
  permit(call, on, at);
  if (g.get() == closed_handle<CUgraph_st>()) [[unlikely]] {
    fail_closed(call, on, at);
  }
  if (is_lost(g.get())) [[unlikely]] {
    fail_lost(g.get(), call, at);
  }
  return g.get();
}

// The same for calls on what the graph is: one that is being captured is not that yet.
inline CUgraph finished(graph_ref g, const char* call, call_site at) {
  const CUgraph handle = usable(g, call, at);
  if (captures_open()) [[unlikely]] {
    refuse_captured_graph(handle, call, at);
  }
  return handle;
}

// For owners that end: destroys it, now or with the end of the capture that records into it or into a part of it.
void destroy_owned(CUgraph graph) noexcept;

inline CUgraphExec usable_exec(CUgraphExec exec, const char* call, call_site at) {
  const subject on = subject::graph_exec(exec);
  permit(call, on, at);
  if (exec == closed_handle<CUgraphExec_st>()) [[unlikely]] {
    fail_closed(call, on, at);
  }
  return exec;
}

// The stream that an executable goes to.
inline CUstream launchable(stream_ref stream, const char* call, call_site at) {
  const CUstream handle = usable(stream, call, at);
  if (captures_open()) [[unlikely]] {
    refuse_captured_stream(handle, call, at);
  }
  return handle;
}

}  // namespace weir::detail
