// SPDX-License-Identifier: Apache-2.0
// model/graph/dot_writer.hpp - writes a graph as text for Graphviz.
#pragma once

#include <string>

namespace weir::embedded::model {

class graph;

// Returns a digraph in the form of a GPU's driver: a cluster for the graph, then a cluster for each
// child graph and body. The label of a node names the clusters of its parts. `flags`
// (CU_GRAPH_DEBUG_DOT_FLAGS_*) select what the labels show besides the kind. Requires the lock of
// the graphs. Throws std::bad_alloc.
[[nodiscard]] std::string dot(const graph& source_graph, unsigned flags);

}  // namespace weir::embedded::model
