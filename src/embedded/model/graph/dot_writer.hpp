// model/dot_writer.hpp - a graph as text for Graphviz.
#pragma once

#include <string>

namespace weir::embedded::model {

class graph;

// A digraph with a box for each node and a cluster for each child graph; `flags`
// (CU_GRAPH_DEBUG_DOT_FLAGS_*) say what the boxes tell beyond the kind. With the lock of the graphs
// held. Throws std::bad_alloc.
[[nodiscard]] std::string dot(const graph& of, unsigned flags);

}  // namespace weir::embedded::model
