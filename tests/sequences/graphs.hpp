// SPDX-License-Identifier: Apache-2.0
// sequences/graphs.hpp - the graphs of a sequence: added and described.
#pragma once

#include "sequences/world.hpp"

namespace weir::sequences {

inline constexpr std::size_t max_graphs = 3;

// Names a graph; destroys it if there are enough of them.
std::string add_graph(world& w, graph_object made);

// Returns the number of nodes of each type and of edges: "nodes 1x2 3x1 edges 2".
[[nodiscard]] std::string shape_of(const world& w, CUgraph graph);

}  // namespace weir::sequences
