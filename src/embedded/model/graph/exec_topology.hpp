// SPDX-License-Identifier: Apache-2.0
// model/graph/exec_topology.hpp - the topology of an executable's graph, kept for updates.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/model/graph/launch_plan.hpp"
#include "embedded/model/graph/node_work.hpp"

namespace weir::embedded::model {

class graph;
struct graph_node;

// A node of an executable.
struct exec_node {
  // The handle of the node in the instantiated graph. That node may no longer exist.
  abi::CUgraphNode origin = nullptr;
  // The place of the node's work in the launch plan.
  plan_location location;
  // The range of exec_topology::dependencies_ with the indices of the nodes that this node depends
  // on.
  std::uint32_t first_dependency = 0;
  std::uint32_t dependency_count = 0;
  // The range of exec_topology::children_ with the child graph or the bodies of this node.
  std::uint32_t first_child = 0;
  std::uint32_t child_count = 0;
  abi::CUgraphNodeType type = abi::CU_GRAPH_NODE_TYPE_EMPTY;
  // The properties of the node's memory that a change of the node must keep.
  node_operands operands;
};

// The nodes and edges of an executable. Guarded by the executable's lock.
class exec_topology {
 public:
  exec_topology() = default;

  // Describes a graph that compile() (launch_plan.hpp) has just compiled. compile() has made
  // `locations` and set graph_node::mark of each node to its index there. Overwrites the marks.
  // Throws std::bad_alloc.
  exec_topology(const graph& source_graph, const std::vector<plan_location>& locations);

  // Returns the node made from a node of the instantiated graph, or null. Throws std::bad_alloc.
  [[nodiscard]] const exec_node* find(abi::CUgraphNode origin);

  // Like find(), but also searches the bodies of conditional nodes, recursively. Child graphs are
  // not searched.
  [[nodiscard]] const exec_node* find_with_bodies(abi::CUgraphNode origin);

  // Returns the topology of the child graph of a child graph node.
  [[nodiscard]] const exec_topology& child_of(const exec_node& node) const noexcept {
    return children_[node.first_child];
  }

  // Nodes of this executable, each with the node of another graph that replaces it.
  using pairs = std::vector<std::pair<const exec_node*, const graph_node*>>;
  // The first difference that a comparison found; CU_GRAPH_EXEC_UPDATE_SUCCESS if there is none.
  struct difference {
    abi::CUgraphExecUpdateResult result = abi::CU_GRAPH_EXEC_UPDATE_SUCCESS;
    abi::CUgraphNode error_node = nullptr;

    explicit operator bool() const noexcept { return result != abi::CU_GRAPH_EXEC_UPDATE_SUCCESS; }
  };
  // Pairs the nodes of this topology and of its children with the nodes of another graph, and
  // appends the pairs to `out`. Child graph nodes themselves are not appended. Starts at the nodes
  // without dependents and follows dependencies in the order in which the edges were added. If
  // topology, node types or numbers of bodies differ, returns the reason, and the node at fault if
  // there is one. Throws std::bad_alloc.
  [[nodiscard]] difference match(const graph& replacement_graph, pairs& out) const;

  // Returns the nodes in the order of their creation, without those of children.
  [[nodiscard]] std::span<const exec_node> nodes() const noexcept { return nodes_; }
  [[nodiscard]] bool has_children() const noexcept { return !children_.empty(); }
  // Returns true if the node with this index and the node with this index in another graph have
  // equal types and dependencies. Two graphs built by equal calls agree in all indices, so this
  // test replaces match(). Must not be called for a topology with children.
  [[nodiscard]] bool is_same_node(const graph& replacement_graph,
                                  std::size_t number) const noexcept;

 private:
  [[nodiscard]] difference match_nodes(const graph& replacement_graph, pairs& out) const;

  std::vector<exec_node> nodes_;  // of this graph, in the order of their creation
  std::vector<std::uint32_t> dependencies_;
  std::vector<std::uint32_t> last_nodes_;  // nodes without dependents
  std::vector<exec_topology> children_;    // the child graphs and bodies of nodes
  bool is_body_ = false;                   // true for the body of a conditional node
  std::unordered_map<abi::CUgraphNode, std::uint32_t> by_origin_;  // filled by the first find()
};

}  // namespace weir::embedded::model
