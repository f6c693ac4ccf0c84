// api/graph/drawing/graph_drawing_folds.cpp - chains of nodes, and what repeats in them.
#include "api/graph/drawing/graph_drawing_folds.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace weir::detail {
namespace {

constexpr std::size_t longest_period = 4;
constexpr std::size_t fewest_nodes = 4;
constexpr std::size_t fewest_times = 3;

using places = std::vector<std::size_t>;
constexpr std::size_t none = static_cast<std::size_t>(-1);

// The node that follows each in a chain: its only one, that follows it only. None where the edge says more than "after".
places followers(const drawn_graph& graph) {
  places follower(graph.nodes.size(), none);
  places leaving(graph.nodes.size());
  places entering(graph.nodes.size());
  for (const drawn_edge& edge : graph.edges) {
    ++leaving[edge.from];
    ++entering[edge.to];
  }
  const auto folds = [&](std::size_t place) {
    const drawn_node& node = graph.nodes[place];
    return node.tag.empty() && node.parts.empty();
  };
  for (const drawn_edge& edge : graph.edges) {
    const bool alone = leaving[edge.from] == 1 && entering[edge.to] == 1 && edge.data == edge_data{};
    if (alone && edge.from != edge.to && folds(edge.from) && folds(edge.to)) follower[edge.from] = edge.to;
  }
  return follower;
}

// The most that repeats at the beginning of a chain.
drawn_box first_box(const drawn_graph& graph, std::span<const std::size_t> chain) {
  const auto kind = [&](std::size_t i) { return graph.nodes[chain[i]].kind; };
  drawn_box best{{chain[0]}, 1};
  for (std::size_t period = 1; period <= longest_period; ++period) {
    std::size_t same = period;
    while (same < chain.size() && kind(same) == kind(same - period)) ++same;
    const std::size_t whole = same - same % period;
    if (whole < fewest_nodes || whole / period < fewest_times || whole <= best.nodes.size()) continue;
    best = {{chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(whole)}, period};
  }
  return best;
}

}  // namespace

std::vector<drawn_box> boxes_of(const drawn_graph& graph, bool fold) {
  const places follower = fold ? followers(graph) : places(graph.nodes.size(), none);
  std::vector<bool> follows(graph.nodes.size());
  for (const std::size_t place : follower) {
    if (place != none) follows[place] = true;
  }
  std::vector<drawn_box> boxes;
  std::vector<bool> boxed(graph.nodes.size());
  const auto box_chain_from = [&](std::size_t place) {
    places chain;
    for (; place != none && !boxed[place]; place = follower[place]) {
      boxed[place] = true;
      chain.push_back(place);
    }
    for (std::span<const std::size_t> rest{chain}; !rest.empty(); rest = rest.subspan(boxes.back().nodes.size())) {
      boxes.push_back(first_box(graph, rest));
    }
  };
  for (std::size_t place = 0; place < graph.nodes.size(); ++place) {
    if (!follows[place]) box_chain_from(place);
  }
  for (std::size_t place = 0; place < graph.nodes.size(); ++place) {
    if (!boxed[place]) box_chain_from(place);  // a ring has no beginning
  }
  std::ranges::sort(boxes, {}, [](const drawn_box& box) { return box.nodes.front(); });
  return boxes;
}

}  // namespace weir::detail
