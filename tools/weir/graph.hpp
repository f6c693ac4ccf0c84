// graph.hpp - the command `weir graph`.
#pragma once

#include <CLI/App.hpp>

namespace weir::tool {

// Adds the command to the program: draws a graph that was written in the DOT language, with
// Graphviz.
void add_graph(CLI::App& program);

}  // namespace weir::tool
