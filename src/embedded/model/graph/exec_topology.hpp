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
  // The node of the instantiated graph, which may no longer exist.
  abi::CUgraphNode origin = nullptr;
  plan_location location;
  std::uint32_t first_dependency = 0;
  std::uint32_t dependencies = 0;
  std::uint32_t child = 0;  // index into the topology's children, for a child graph or bodies
  std::uint8_t kind = 0;    // the index in node_params
  node_operands operands;
};

// The nodes and edges of an executable. Guarded by the executable's lock.
class exec_topology {
 public:
  exec_topology() = default;

  // Describes a compiled graph, whose node marks are indices of `locations`. Throws std::bad_alloc.
  exec_topology(const graph& source_graph, const std::vector<plan_location>& locations);

  // Returns the node made from a node of the instantiated graph, or null. Throws std::bad_alloc.
  [[nodiscard]] const exec_node* find(abi::CUgraphNode origin);

  // Like find(), but also searches bodies of conditional nodes, recursively. The children of such a
  // node are not children of this topology.
  [[nodiscard]] const exec_node* find_with_bodies(abi::CUgraphNode origin);

  [[nodiscard]] const exec_topology& child_of(const exec_node& node) const noexcept {
    return children_[node.child];
  }

  // Pairs its nodes, and those of its children, with the nodes of another graph. Starts at the last
  // nodes and follows dependencies in the order in which they were added. If topology or node types
  // differ, returns the reason, and the node at fault if there is one. Throws std::bad_alloc.
  using pairs = std::vector<std::pair<const exec_node*, const graph_node*>>;
  struct difference {
    abi::CUgraphExecUpdateResult result = abi::CU_GRAPH_EXEC_UPDATE_SUCCESS;
    abi::CUgraphNode error_node = nullptr;
  };
  [[nodiscard]] difference match(const graph& replacement_graph, pairs& out) const;

  // For topologies without children. If another graph was built in an equal way, nodes with equal
  // numbers correspond. is_same_node() compares the kind and the dependencies of one such pair.
  [[nodiscard]] std::span<const exec_node> nodes() const noexcept { return nodes_; }
  [[nodiscard]] bool has_children() const noexcept { return !children_.empty(); }
  [[nodiscard]] bool is_same_node(const graph& replacement_graph,
                                  std::size_t number) const noexcept;

 private:
  [[nodiscard]] difference match_children(const exec_node& current, const graph_node& replacement,
                                          pairs& out) const;
  [[nodiscard]] difference match_nodes(const graph& replacement_graph, pairs& out) const;

  std::vector<exec_node> nodes_;  // in the order of their creation
  std::vector<std::uint32_t> dependencies_;
  std::vector<std::uint32_t> last_nodes_;  // nodes without dependents
  // The child of a conditional node has its bodies as children.
  std::vector<exec_topology> children_;
  std::unordered_map<abi::CUgraphNode, std::uint32_t> by_origin_;  // filled by the first find()
};

}  // namespace weir::embedded::model
