// model/exec_topology.hpp - what an executable remembers of the graph that it was made from: enough
// to update it.
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
  abi::CUgraphNode origin = nullptr;  // of the instantiated graph, which need not be there any more
  plan_location location;
  std::uint32_t first_dependency = 0;
  std::uint32_t dependencies = 0;
  std::uint32_t child = 0;  // which of the shape's children, for a child graph or bodies
  std::uint8_t kind = 0;    // the index in node_params
  node_operands operands;
};

// Nodes and edges. Not locked; its executable is.
class exec_topology {
 public:
  exec_topology() = default;

  // Of a graph that was compiled: its nodes' marks tell their places. Throws std::bad_alloc.
  exec_topology(const graph& from, const std::vector<plan_location>& locations);

  // The node that was made of one of the instantiated graph; null where there is none. Throws
  // std::bad_alloc.
  [[nodiscard]] const exec_node* find(abi::CUgraphNode origin);

  // The same, also in the bodies of conditional nodes, and in the bodies there. Its parts are not
  // this shape's.
  [[nodiscard]] const exec_node* find_with_bodies(abi::CUgraphNode origin);

  [[nodiscard]] const exec_topology& child_of(const exec_node& node) const noexcept {
    return children_[node.child];
  }

  // Pairs its nodes, and those of its parts, with the nodes of another graph. From the last nodes
  // on, and in the order in which dependencies were named. A graph of another shape, or with
  // another type of node somewhere, has no pairs but a reason, and the node if it is one node's
  // fault. Throws std::bad_alloc.
  using pairs = std::vector<std::pair<const exec_node*, const graph_node*>>;
  struct difference {
    abi::CUgraphExecUpdateResult why = abi::CU_GRAPH_EXEC_UPDATE_SUCCESS;
    abi::CUgraphNode at = nullptr;
  };
  [[nodiscard]] difference match(const graph& other, pairs& out) const;

  // Where there are no parts, the pairs of a graph that was made alike are nodes of the same
  // number, of the same kind and with edges from the same numbers: one look at each node tells.
  [[nodiscard]] std::span<const exec_node> nodes() const noexcept { return nodes_; }
  [[nodiscard]] bool has_children() const noexcept { return !children_.empty(); }
  [[nodiscard]] bool is_same_node(const graph& other, std::size_t number) const noexcept;

 private:
  [[nodiscard]] difference match_children(const exec_node& current, const graph_node& replacement,
                                          pairs& out) const;
  [[nodiscard]] difference match_nodes(const graph& other, pairs& out) const;

  std::vector<exec_node> nodes_;  // in the order of their creation
  std::vector<std::uint32_t> dependencies_;
  std::vector<std::uint32_t> last_nodes_;  // on which no other depends
  std::vector<exec_topology> children_;    // that of a conditional node has its bodies for children
  std::unordered_map<abi::CUgraphNode, std::uint32_t> by_origin_;  // made when first asked for
};

}  // namespace weir::embedded::model
