// model/flat_graph.hpp - a graph and its parts as one list of nodes, and what may hold each of them
// up.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "embedded/model/graph/graph_node.hpp"

namespace weir::embedded::model {

// A node of the list. A child graph is two of them without work, before and behind its nodes.
struct flat_node {
  const graph_node* node;  // null: no work
  std::uint32_t first_dependency;
  std::uint32_t dependencies = 0;
  bool may_block =
      false;  // may be held up by something outside the graph, or depends on one that may be
  bool waits = false;      // waits for a value or an event, or depends on one that does
  bool host = false;       // is a host function
  std::uint64_t cost = 0;  // nanoseconds, by and large
};

class flat_graph {
 public:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  // Of a graph without cycles, whose nodes are given in order. From here on the nodes' marks tell
  // their numbers in the list; a child graph's, that of its end. Throws std::bad_alloc.
  explicit flat_graph(const std::vector<graph_node*>& order);

  // A body of a conditional node: a part of the list that no other node depends on.
  struct body {
    std::uint32_t conditional;  // the node's number
    std::uint32_t which;        // of its bodies
    std::uint32_t first;
    std::uint32_t size;
  };

  // Each comes after the node's, and after those that the node is in.
  [[nodiscard]] const std::vector<body>& bodies() const noexcept { return bodies_; }

  // How many nodes are in no body. They come first.
  [[nodiscard]] std::uint32_t outer_node_count() const noexcept { return outer_node_count_; }

  // Each comes after those that it depends on.
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
  void depend_on(std::uint32_t other);
  void propagate_may_block() noexcept;

  std::vector<flat_node> nodes_;
  std::vector<std::uint32_t> dependencies_;
  std::vector<std::uint32_t> conditionals_;
  std::vector<body> bodies_;
  std::uint32_t outer_node_count_ = 0;
};

}  // namespace weir::embedded::model
