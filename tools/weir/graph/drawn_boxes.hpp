// SPDX-License-Identifier: Apache-2.0
// tools/weir/graph/drawn_boxes.hpp - the boxes of a drawing: single nodes or repeated patterns.
#pragma once

#include "graph/drawn_graph.hpp"

#include <cstddef>
#include <vector>

namespace weir::tool {

// Nodes that are drawn as one box, in order. Their kinds repeat.
struct drawn_box {
  std::vector<std::size_t> nodes;  // indices of the nodes
  std::size_t period = 1;          // number of nodes after which the kinds repeat

  [[nodiscard]] std::size_t repetitions() const noexcept { return nodes.size() / period; }
};

// Assigns every node to one box. If `fold` is false, each node has its own.
[[nodiscard]] std::vector<drawn_box> boxes_of(const drawn_graph& graph, bool fold);

}  // namespace weir::tool
