// SPDX-License-Identifier: Apache-2.0
// tools/weir/graph/graph.hpp - the command `weir graph`.
#pragma once

#include <CLI/App.hpp>

namespace weir::tool {

// Adds the command to the program. It draws a graph from the description of a driver.
void add_graph(CLI::App& program);

}  // namespace weir::tool
