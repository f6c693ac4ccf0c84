// SPDX-License-Identifier: Apache-2.0
// model/graph/dot_writer.hpp - writes a graph as text for Graphviz.
#pragma once

#include <string>

namespace weir::embedded::model {

class graph;

// Returns a digraph with a box for each node and a cluster for each child graph. `flags`
// (CU_GRAPH_DEBUG_DOT_FLAGS_*) select what the boxes show besides the kind. Requires the lock of
// the graphs. Throws std::bad_alloc.
[[nodiscard]] std::string dot(const graph& source_graph, unsigned flags);

}  // namespace weir::embedded::model
