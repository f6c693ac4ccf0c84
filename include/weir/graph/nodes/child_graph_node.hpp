// weir/graph/nodes/child_graph_node.hpp - nodes that are graphs.
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

// A copy of a graph, for what it keeps alive.
struct child_graph_owner {
  keep_alive_ref copy;
  operator owner_list() const noexcept { return {&copy, 1}; }
};

}  // namespace detail

// A node that runs a whole graph of its own.
class WEIR_EXPORT child_graph_node : public detail::typed_node<node_kind::child_graph> {
 public:
  using typed_node::typed_node;

  // The node's own graph: asked, added to and changed as any; it is not instantiated, destroyed or
  // added elsewhere. Valid while the node is. cuGraphChildGraphNodeGetGraph.
  [[nodiscard]] graph_ref child(call_site at = call_site::current()) const;
};

// What adds one that runs a copy of a graph, and in an executable replaces it by one of the same
// shape (graph_exec::set(); another shape is graph_exec_update_failure). The copy keeps alive what
// the original does, and has its tags. A graph that allocates, frees or has conditional nodes
// cannot be copied: refused (not_supported), with the node that is to blame in the text;
// add_moved_child() takes it, unless it has conditional nodes. A graph in itself is refused
// (invalid_value), and so is one that is being captured (illegal_state). Where the tags cannot be
// copied for some failure, and the graph that the node was added to loses no nodes (it allocates,
// or is being captured), the node stays without them, and set_unhandled_error_handler hears why.
class WEIR_EXPORT child_graph_parameters {
 public:
  using node_type = child_graph_node;

  explicit child_graph_parameters(graph_ref child) noexcept : child_{child} {}

 private:
  friend struct detail::node_access;
  [[nodiscard]] CUgraphNode_st* add_to(CUgraph_st* to, dependency_list after, call_site at) const;
  void set_in(CUgraphExec_st* exec, graph_node node, call_site at) const;
  [[nodiscard]] detail::child_graph_owner owners_in_exec(call_site at) const;

  graph_ref child_;
};

// Adds a node that runs this graph itself: it is the node's from then on, nodes, tags and all, and
// `child` is closed. If that fails it is what it was. For graphs that allocate or free, and to save
// the copy. One with conditional nodes stays where it is (not_supported), and a conditional body
// takes no memory nodes either. A driver of CUDA 12.9 or later. cuGraphAddNode.
WEIR_EXPORT child_graph_node add_moved_child(graph_ref to, graph&& child,
                                             dependency_list after = {},
                                             call_site at = call_site::current());

}  // namespace weir
