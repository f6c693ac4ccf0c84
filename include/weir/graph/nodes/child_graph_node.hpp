// SPDX-License-Identifier: Apache-2.0
// weir/graph/nodes/child_graph_node.hpp - nodes that run a graph of their own.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/keep_alive.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/nodes/graph_node.hpp>

namespace weir {

class child_graph_parameters;

namespace detail {

/// Holds a copy of the child graph. The copy keeps the owners of the child graph alive for an
/// executable.
struct child_graph_owner {
  keep_alive_ref copy;
  operator owner_list() const noexcept { return {&copy, 1}; }
};

}  // namespace detail

/// A node that runs a graph that belongs to the node.
class WEIR_EXPORT child_graph_node : public detail::typed_node<node_kind::child_graph> {
 public:
  using typed_node::typed_node;

  /// Returns the graph that the node runs. It can be queried and changed like any graph, but not
  /// instantiated, destroyed or added to another graph. Valid until the node is removed.
  ///
  /// Driver: cuGraphChildGraphNodeGetGraph.
  [[nodiscard]] graph_ref child(call_site at = call_site::current()) const;
};

/// Describes a node that runs a copy of a graph. graph_exec::set() replaces the copy by a copy of a
/// graph with equal nodes and edges.
///
/// The copy keeps alive every owner that the original keeps alive, and has its tags. If copying the
/// tags fails, the node is removed again. It cannot be removed if the parent graph has allocation
/// nodes or is being captured. The node then stays without tags, and the error goes to
/// set_unhandled_error_handler.
///
/// Throws: when added, `not_supported` for a graph that allocates, frees or has conditional nodes,
/// with that node in the text. add_moved_child() accepts such a graph unless it has conditional
/// nodes. `invalid_value` for a graph in itself; `illegal_state` for a graph that is being
/// captured. When set in an executable, `graph_exec_update_failure` for a graph of another shape.
class WEIR_EXPORT child_graph_parameters {
 public:
  using node_type = child_graph_node;

  /// Refers to the graph to be copied when the node is added or set.
  explicit child_graph_parameters(graph_ref child) noexcept : child_{child} {}

 private:
  friend struct detail::node_access;
  [[nodiscard]] CUgraphNode_st* add_to(detail::insertion_point point, call_site at) const;
  void set_in_exec(CUgraphExec_st* exec, graph_node node, call_site at) const;
  [[nodiscard]] detail::child_graph_owner owners_in_exec(call_site at) const;

  graph_ref child_;
};

/// Adds a node that runs `child` itself, without a copy. The new node takes over the nodes and tags
/// of `child`, and `child` is closed. If the call throws, `child` does not change. Needs a driver
/// for CUDA 12.9 or later.
///
/// Use it for graphs that allocate or free memory, and to save the copy. The body of a conditional
/// node accepts no graph with allocation or free nodes.
///
/// Throws: `not_supported` if `child` has conditional nodes.
/// Driver: cuGraphAddNode.
WEIR_EXPORT child_graph_node add_moved_child(graph_ref parent_graph, graph&& child,
                                             dependency_list dependencies = {},
                                             call_site at = call_site::current());

}  // namespace weir
