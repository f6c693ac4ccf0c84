// SPDX-License-Identifier: Apache-2.0
// api/graph/node_calls.hpp - validates graph nodes, and adds, reads and changes them.
#pragma once

#include "api/core/check.hpp"
#include "api/graph/graph_checks.hpp"
#include "api/graph/node_failure.hpp"
#include "api/graph/node_metadata.hpp"

#include <weir/graph/nodes/graph_node.hpp>

#include <cstddef>
#include <type_traits>
#include <vector>

namespace weir::detail {

// Returns the handle of the node for a driver call. Throws if `node` is empty, its graph is
// unusable (graph_parts.hpp), or this thread runs a host function.
CUgraphNode require_open(graph_node node, const char* call, call_site at);

// Throws as require_open(), and if `node` names a graph other than `graph`. A node that names no
// graph is accepted.
void require_node_of(graph_node node, CUgraph graph, const char* call, call_site at);

// Returns the nodes that a function of the driver lists, in the driver's order.
[[nodiscard]] std::vector<CUgraphNode> list_nodes(
    CUgraph graph, const char* call,
    CUresult (*driver_table::*list)(CUgraph, CUgraphNode*, std::size_t*), call_site at);
// Returns all nodes of a graph in the driver's order.
[[nodiscard]] inline std::vector<CUgraphNode> nodes_of(CUgraph graph, call_site at) {
  return list_nodes(graph, "cuGraphGetNodes", &driver_table::cuGraphGetNodes, at);
}

// Notes the memory that a new node, or new parameters of a node, will use (captured_uses.hpp). Does
// nothing for a node whose graph is not known.
void note_node_memory(insertion_point point, const std::vector<region>& memory, call_site at);
void note_node_memory(graph_node node, const std::vector<region>& memory);

// Adds the node that `params` describes, whose unused members must be 0. The graph keeps `owners`
// alive for the node. Throws if the driver refuses the node.
[[nodiscard]] CUgraphNode add_node(insertion_point point, CUgraphNodeParams& params,
                                   owner_list owners, call_site at);
// Like add_node(), for a node that uses `memory`.
[[nodiscard]] CUgraphNode add_node(insertion_point point, CUgraphNodeParams& params,
                                   owner_list owners, const std::vector<region>& memory,
                                   call_site at);
// Like add_node(), but returns the driver's result for the node and sets `created`. Throws all
// other failures.
[[nodiscard]] CUresult try_add_node(insertion_point point, CUgraphNodeParams& params,
                                    owner_list owners, CUgraphNode& created, call_site at);

// Throws if `answer`, the result of changing a node of a graph, is a failure.
inline void check_set(CUresult answer, const char* call, graph_node node, node_kind kind,
                      call_site at) {
  if (answer != CUDA_SUCCESS) [[unlikely]] {
    fail_setting(answer, call, node, kind, at);
  }
}

// Changes the parameters of a node. `set(handle)` makes the driver call and returns its result. The
// graph then keeps `owners` alive for the node, in place of its previous owners.
template <class Set>
void change_node(graph_node node, node_kind kind, owner_list owners, const char* call,
                 const Set& set, call_site at) {
  const CUgraphNode handle = require_open(node, call, at);
  node_owners new_owners{node.graph().get(), owners, at};
  check_set(set(handle), call, node, kind, at);
  new_owners.assign_to(handle);
}

// Like change_node() with a function object, for a driver function `set` whose only arguments are
// the node and the parameters.
template <class Params>
void change_node(graph_node node, node_kind kind, owner_list owners, const char* call,
                 CUresult (*driver_table::*set)(CUgraphNode, Params),
                 std::type_identity_t<Params> params, call_site at) {
  const auto set_params = [&](CUgraphNode handle) { return (driver().*set)(handle, params); };
  change_node(node, kind, owners, call, set_params, at);
}

// Throws if `answer`, the result of setting a node in an executable, is a failure.
inline void check_set_in_exec(CUresult answer, const char* call, CUgraphExec exec, graph_node node,
                              node_kind kind, call_site at) {
  if (answer != CUDA_SUCCESS) [[unlikely]] {
    fail_setting_in_exec(answer, call, exec, node, kind, at);
  }
}

// Throws if `answer`, the result of reading the parameters of a node, is a failure.
inline void check_read(CUresult answer, const char* call, graph_node node, call_site at) {
  if (answer != CUDA_SUCCESS) [[unlikely]] {
    throw_error(static_cast<errc>(answer), call, describe(node),
                "the node is of another kind or was destroyed; check its kind() first", at);
  }
}

// Returns the node's parameters, which the driver's function `get` reads.
template <class Params>
[[nodiscard]] Params params_of(graph_node node, const char* call,
                               CUresult (*driver_table::*get)(CUgraphNode, Params*), call_site at) {
  Params params{};
  const CUgraphNode handle = require_open(node, call, at);
  check_read((driver().*get)(handle, &params), call, node, at);
  return params;
}

}  // namespace weir::detail
