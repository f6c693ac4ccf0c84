// SPDX-License-Identifier: Apache-2.0
// api/graph/nodes/child_graph_node.cpp - nodes that contain a graph.
#include <weir/core/to_string.hpp>
#include <weir/graph/nodes/child_graph_node.hpp>

#include "api/core/unhandled_error.hpp"
#include "api/graph/conditional_bodies.hpp"
#include "api/graph/graph_metadata.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/graph/node_calls.hpp"
#include "api/graph/node_metadata.hpp"

#include <fmt/format.h>

#include <exception>
#include <optional>

namespace weir {

using detail::check;
using detail::driver;
using detail::subject;

namespace {

constexpr const char* add_child_call = "cuGraphAddNode";

abi::CUgraph embedded_graph(abi::CUgraphNode node, call_site at) {
  constexpr const char* call = "cuGraphChildGraphNodeGetGraph";
  return detail::params_of(graph_node{node}, call,
                           &detail::driver_table::cuGraphChildGraphNodeGetGraph, at);
}

// Throws if either graph is closed or unusable, or if the child is being captured or contains the
// parent. If the parent is in a conditional body, also throws for nodes that a body cannot contain.
// A driver would crash, or report the mistake only at instantiation.
void check_child(CUgraph_st* parent_graph, graph_ref child, call_site at) {
  detail::require_open(graph_ref{parent_graph}, add_child_call, at);
  CUgraph_st* const handle = detail::require_open(child, add_child_call, at);
  if (detail::is_part_of(parent_graph, handle)) {
    detail::throw_error(errc::invalid_value, add_child_call, to_string(graph_ref{parent_graph}),
                        "a graph cannot contain itself; pass another graph", at);
  }
  detail::require_not_capturing(child, add_child_call, at);
  if (!detail::is_in_body(parent_graph)) return;
  const graph_node not_allowed = detail::find_not_allowed_in_body(handle, at);
  if (!not_allowed) return;
  detail::throw_error(
      errc::not_supported, add_child_call, to_string(graph_ref{parent_graph}),
      fmt::format("the child contains {}, which a body of a conditional node cannot contain; use a "
                  "child without it",
                  detail::describe(not_allowed)),
      at);
}

using child_ownership = abi::CUgraphChildGraphNodeOwnership;

[[noreturn, gnu::cold]] void fail_adding_child(abi::CUresult answer, detail::insertion_point point,
                                               graph_ref child, child_ownership ownership,
                                               call_site at) {
  std::string reason = detail::hint_for(node_kind::child_graph);
  if (answer == abi::CUDA_ERROR_NOT_SUPPORTED) {
    reason =
        "the child is already part of a node; pass a graph that is not part of another "
        "one";
    if (const graph_node not_movable = detail::find_conditional(child.get(), at)) {
      reason = fmt::format(
          "a graph that contains {} can be neither copied nor moved into a child graph "
          "node; add its nodes to the parent directly",
          detail::describe(not_movable));
    } else if (const graph_node not_copyable = detail::find_not_copyable(child.get(), at);
               not_copyable && ownership == abi::CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE) {
      reason = fmt::format(
          "a graph that contains {} cannot be cloned; use add_moved_child() to move it "
          "instead",
          detail::describe(not_copyable));
    }
  }
  detail::fail_adding(answer, point, node_kind::child_graph, std::move(reason), at);
}

// A new child graph node, and memory to register its graph as a part of it. There is no such memory
// if no graph had metadata before, because the child then has none to copy.
struct added_child {
  CUgraphNode_st* node = nullptr;
  std::optional<detail::part_reservation> reservation;
};

added_child add_child(detail::insertion_point point, graph_ref child, child_ownership ownership,
                      call_site at) {
  check_child(point.graph, child, at);
  added_child added;
  if (detail::any_graph_metadata()) {
    detail::ensure_metadata(point.graph, at);
    added.reservation.emplace(1);
  }
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph = {child.get(), ownership};
  const abi::CUresult answer = detail::try_add_node(point, params, {}, added.node, at);
  if (answer != abi::CUDA_SUCCESS) fail_adding_child(answer, point, child, ownership, at);
  return added;
}

}  // namespace

graph_ref child_graph_node::child(call_site at) const {
  detail::require_open(*this, "cuGraphChildGraphNodeGetGraph", at);
  CUgraph_st* const part = embedded_graph(get(), at);
  if (CUgraph_st* const parent_graph = graph().get(); parent_graph != nullptr) {
    detail::ensure_metadata(parent_graph, at);
    detail::part_reservation{1}.add_part(part, parent_graph, get(), detail::part_kind::child);
  }
  return graph_ref{part};
}

CUgraphNode_st* child_graph_parameters::add_to(detail::insertion_point point, call_site at) const {
  added_child added = add_child(point, child_, abi::CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE, at);
  if (!added.reservation) return added.node;
  try {
    CUgraph_st* const part = embedded_graph(added.node, at);
    added.reservation->add_part(part, point.graph, added.node, detail::part_kind::child);
    detail::copy_metadata(child_.get(), part, at);
  } catch (...) {
    if (driver().cuGraphDestroyNode(added.node) == abi::CUDA_SUCCESS) {
      // The result is empty, because a child graph node has no owners.
      static_cast<void>(detail::erase_node_metadata(point.graph, added.node));
      throw;
    }
    // The node stays in the graph and works, but has no metadata of the child.
    detail::call_unhandled_error_handler(std::current_exception());
  }
  return added.node;
}

// Returns a clone of the child graph as an owner for the executable. An executable takes over the
// operations of the child's nodes, but no references to the objects that the child keeps alive. The
// clone keeps these objects alive.
detail::child_graph_owner child_graph_parameters::owners_in_exec(call_site at) const {
  CUgraph_st* const child =
      detail::require_not_capturing(child_, "cuGraphExecChildGraphNodeSetParams", at);
  abi::CUgraph copy = nullptr;
  const abi::CUresult answer = driver().cuGraphClone(&copy, child);
  // The driver cannot clone this graph, so it will also refuse to set it. The caller then throws
  // that error.
  if (answer == abi::CUDA_ERROR_NOT_SUPPORTED || answer == abi::CUDA_ERROR_INVALID_VALUE) return {};
  check(answer, "cuGraphClone", subject::graph(child), at);
  detail::forget_metadata(copy);
  graph created = graph::adopt(copy, at);
  return {detail::keep_alive_ref{*new detail::keep_alive_box<graph>{std::move(created)}}};
}

void child_graph_parameters::set_in_exec(CUgraphExec_st* exec, graph_node node,
                                         call_site at) const {
  constexpr const char* call = "cuGraphExecChildGraphNodeSetParams";
  CUgraph_st* const child = detail::require_not_capturing(child_, call, at);
  detail::check_set_in_exec(driver().cuGraphExecChildGraphNodeSetParams(exec, node.get(), child),
                            call, exec, node, node_kind::child_graph, at);
}

child_graph_node add_moved_child(graph_ref parent_graph, graph&& child,
                                 dependency_list dependencies, call_site at) {
  added_child added = add_child({parent_graph.get(), dependencies}, child,
                                abi::CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE, at);
  CUgraph_st* const part = detail::detach_graph(child);
  if (added.reservation) added.reservation->add_moved_part(part, parent_graph.get(), added.node);
  return child_graph_node{detail::known_kind{}, graph_node{added.node, parent_graph.get()}};
}

}  // namespace weir
