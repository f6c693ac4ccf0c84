// SPDX-License-Identifier: Apache-2.0
// tools/weir/graph/drawn_boxes.cpp - finds chains of nodes with repeated patterns.
#include "graph/drawn_boxes.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace weir::tool {
namespace {

constexpr std::size_t max_period = 4;
constexpr std::size_t min_nodes = 4;
constexpr std::size_t min_repetitions = 3;

using node_indices = std::vector<std::size_t>;
constexpr std::size_t none = static_cast<std::size_t>(-1);

// Returns for each node its successor in a chain: its only dependent, if it is that node's only
// dependency. There is none if the edge is not plain, or if a node has a tag or parts.
node_indices successors(const drawn_graph& graph) {
  node_indices successor(graph.nodes.size(), none);
  node_indices leaving(graph.nodes.size());
  node_indices entering(graph.nodes.size());
  for (const drawn_edge& edge : graph.edges) {
    ++leaving[edge.source];
    ++entering[edge.target];
  }
  const auto folds = [&](std::size_t index) {
    const drawn_node& node = graph.nodes[index];
    return node.tag.empty() && node.parts.empty();
  };
  for (const drawn_edge& edge : graph.edges) {
    const bool alone = leaving[edge.source] == 1 && entering[edge.target] == 1 && edge.is_plain();
    if (alone && edge.source != edge.target && folds(edge.source) && folds(edge.target))
      successor[edge.source] = edge.target;
  }
  return successor;
}

// Returns the box with the most nodes at the beginning of the chain.
drawn_box first_box(const drawn_graph& graph, std::span<const std::size_t> chain) {
  const auto kind = [&](std::size_t i) { return graph.nodes[chain[i]].kind; };
  drawn_box best{{chain[0]}, 1};
  for (std::size_t period = 1; period <= max_period; ++period) {
    std::size_t matching = period;
    while (matching < chain.size() && kind(matching) == kind(matching - period)) ++matching;
    const std::size_t covered = matching - matching % period;
    if (covered < min_nodes || covered / period < min_repetitions || covered <= best.nodes.size())
      continue;
    best = {{chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(covered)}, period};
  }
  return best;
}

}  // namespace

std::vector<drawn_box> boxes_of(const drawn_graph& graph, bool fold) {
  const node_indices successor = fold ? successors(graph) : node_indices(graph.nodes.size(), none);
  std::vector<bool> has_predecessor(graph.nodes.size());
  for (const std::size_t index : successor) {
    if (index != none) has_predecessor[index] = true;
  }
  std::vector<drawn_box> boxes;
  std::vector<bool> boxed(graph.nodes.size());
  const auto box_chain_from = [&](std::size_t index) {
    node_indices chain;
    for (; index != none && !boxed[index]; index = successor[index]) {
      boxed[index] = true;
      chain.push_back(index);
    }
    for (std::span<const std::size_t> remaining{chain}; !remaining.empty();
         remaining = remaining.subspan(boxes.back().nodes.size())) {
      boxes.push_back(first_box(graph, remaining));
    }
  };
  for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
    if (!has_predecessor[index]) box_chain_from(index);
  }
  for (std::size_t index = 0; index < graph.nodes.size(); ++index) {
    if (!boxed[index]) box_chain_from(index);  // a cycle has no beginning
  }
  std::ranges::sort(boxes, {}, [](const drawn_box& box) { return box.nodes.front(); });
  return boxes;
}

}  // namespace weir::tool
