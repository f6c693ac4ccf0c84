// SPDX-License-Identifier: Apache-2.0
// tools/weir/graph/graph.hpp - the command `weir graph`.
#pragma once

#include <CLI/App.hpp>

namespace weir::tool {

// Adds the command `weir graph` to the program. The command draws a CUDA graph from the DOT text
// that a driver writes for it (cuGraphDebugDotPrint).
void add_graph(CLI::App& program);

}  // namespace weir::tool
