// SPDX-License-Identifier: Apache-2.0
// tools/weir/graph/drawing.hpp - a readable drawing of a graph in the DOT language.
#pragma once

#include "graph/drawn_graph.hpp"

#include <cstddef>
#include <string>

namespace weir::tool {

// The direction in which a drawing runs.
enum class drawing_direction : unsigned char { down, right };

struct drawing_options {
  // Later nodes are further down, or further to the right.
  drawing_direction direction = drawing_direction::down;
  // Folds repeated nodes into one box with a count if the graph, including child graphs and bodies,
  // has more nodes than this. A chain of at least four nodes is folded if its kinds repeat at least
  // three times, with a period of up to four nodes. Nodes with a tag, and nodes with child graphs
  // or bodies, keep their own boxes. 0 always folds.
  std::size_t fold_above = 40;
  bool call_sites = true;  // shows the source line that added a node
  bool legend = true;      // shows which colour means which kind, for the kinds that occur
};

// Returns the drawing. Each node is a box with its tag, a short description and the line that added
// it. Child graphs and bodies are frames. Equal graphs give equal texts.
[[nodiscard]] std::string drawing_of(const drawn_graph& graph, const drawing_options& options);

}  // namespace weir::tool
