// SPDX-License-Identifier: Apache-2.0
// model/graph/flat_graph.hpp - a graph and its subgraphs as one list of nodes.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "embedded/model/graph/graph_node.hpp"

namespace weir::embedded::model {

// A node of the list. A child graph node becomes two nodes without work, one before and one after
// the nodes of the child graph.
struct flat_node {
  const graph_node* node;  // null for the begin or end of a child graph, which has no work
  // The range of flat_graph::dependencies_ with the indices of the nodes that this node depends on.
  std::uint32_t first_dependency;
  std::uint32_t dependencies = 0;
  // is a host function, waits for a value or an event, or depends on such a node
  bool may_block = false;
  bool waits = false;      // waits for a value or an event, or depends on such a node
  bool host = false;       // is a host function
  std::uint64_t cost = 0;  // estimated run time in nanoseconds
};

// A graph as one list of nodes. Child graphs are inlined. The bodies of conditional nodes follow
// after all other nodes.
class flat_graph {
 public:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  // Flattens a graph without cycles, whose nodes are given in topological order. Stores the index
  // of each node in the list as graph_node::mark; for a child graph node, the index of its end.
  // Throws std::bad_alloc.
  explicit flat_graph(const std::vector<graph_node*>& order);

  // A body of a conditional node: a range of the list that no node outside of the range depends on.
  struct body {
    std::uint32_t conditional;  // the index of the conditional node in the list
    std::uint32_t index;        // the index of the body among the bodies of its node
    std::uint32_t first;
    std::uint32_t size;
  };

  // Returns all bodies. A nested body comes after the body that contains its conditional node.
  [[nodiscard]] const std::vector<body>& bodies() const noexcept { return bodies_; }

  // Returns the number of nodes outside of bodies; these nodes come first.
  [[nodiscard]] std::uint32_t outer_node_count() const noexcept { return outer_node_count_; }

  // Returns the nodes in topological order.
  [[nodiscard]] const std::vector<flat_node>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(nodes_.size());
  }
  [[nodiscard]] std::span<const std::uint32_t> dependencies_of(std::uint32_t node) const noexcept {
    return std::span{dependencies_}.subspan(nodes_[node].first_dependency,
                                            nodes_[node].dependencies);
  }

 private:
  void append(const std::vector<graph_node*>& order, std::uint32_t predecessor);
  void append_bodies();
  std::uint32_t add(const graph_node* node);
  void depend_on(std::uint32_t dependency);
  void propagate_may_block() noexcept;

  std::vector<flat_node> nodes_;
  std::vector<std::uint32_t> dependencies_;
  std::vector<std::uint32_t> conditionals_;
  std::vector<body> bodies_;
  std::uint32_t outer_node_count_ = 0;
};

}  // namespace weir::embedded::model
