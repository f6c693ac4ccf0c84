// sequences/graphs.hpp - the graphs of a sequence: taken in and described.
#pragma once

#include "sequences/world.hpp"

namespace weir::sequences {

inline constexpr std::size_t max_graphs = 3;

// Gives a graph its name; destroys it where there are enough of them.
std::string add_graph(world& w, graph_object made);

// How many nodes of each kind and how many edges: "nodes 1x2 3x1 edges 2".
[[nodiscard]] std::string shape_of(const world& w, CUgraph graph);

}  // namespace weir::sequences
