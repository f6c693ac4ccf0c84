// api/graph/node_calls.hpp - nodes of graphs as operands of driver calls: added, asked and changed.
#pragma once

#include "api/core/check.hpp"
#include "api/graph/graph_checks.hpp"
#include "api/graph/node_failure.hpp"
#include "api/graph/node_owners.hpp"

#include <weir/graph/nodes/graph_node.hpp>

namespace weir::detail {

// The handle to give to the driver: of a node that is one, on a thread where calls are allowed.
CUgraphNode require_open(graph_node node, const char* call, call_site at);

// Throws unless the node is known to be of this graph, or nobody knows.
void require_node_of(graph_node node, CUgraph graph, const char* call, call_site at);

// Adds the node that `params` describes, with all zero where it says nothing. The first form throws
// what says why the driver refuses it; the second gives its answer, and has refused everything
// else.
[[nodiscard]] CUgraphNode add_node(CUgraph to, dependency_list after, CUgraphNodeParams& params,
                                   owner_list owners, call_site at);
[[nodiscard]] CUresult try_add_node(CUgraph to, dependency_list after, CUgraphNodeParams& params,
                                    owner_list owners, CUgraphNode& created, call_site at);

// Changes a node of a graph: set(handle) calls the driver.
template <class Set>
void change_node(graph_node node, node_kind kind, owner_list owners, const char* call,
                 const Set& set, call_site at) {
  const CUgraphNode handle = require_open(node, call, at);
  node_owners kept{node.graph().get(), owners, at};
  if (const CUresult answer = set(handle); answer != CUDA_SUCCESS)
    fail_setting(answer, call, node, kind, at);
  kept.assign_to(handle);
}

inline void check_set_in(CUresult answer, const char* call, CUgraphExec exec, graph_node node,
                         node_kind kind, call_site at) {
  if (answer != CUDA_SUCCESS) [[unlikely]] {
    fail_setting_in(answer, call, exec, node, kind, at);
  }
}

// What the driver has of the node: get(handle, params) calls it.
template <class Params, class Get>
[[nodiscard]] Params params_of(graph_node node, const char* call, const Get& get, call_site at) {
  Params params{};
  const CUgraphNode handle = require_open(node, call, at);
  if (const CUresult answer = get(handle, &params); answer != CUDA_SUCCESS) {
    throw_error(static_cast<errc>(answer), call, describe(node),
                "the node is of another kind, or gone", at);
  }
  return params;
}

}  // namespace weir::detail
