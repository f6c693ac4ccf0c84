// api/graph/drawing/graph_drawing_folds.hpp - the boxes of a drawing: a node each, or what repeats.
#pragma once

#include "api/graph/drawing/graph_drawing_nodes.hpp"

#include <cstddef>
#include <vector>

namespace weir::detail {

// Nodes that are drawn as one, in their order: the same kinds again and again.
struct drawn_box {
  std::vector<std::size_t> nodes;  // by place
  std::size_t period = 1;          // after so many the kinds repeat

  [[nodiscard]] std::size_t repetitions() const noexcept { return nodes.size() / period; }
};

// Every node is in one of them. Without `fold` each is in its own.
[[nodiscard]] std::vector<drawn_box> boxes_of(const drawn_graph& graph, bool fold);

}  // namespace weir::detail
