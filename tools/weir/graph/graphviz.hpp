// SPDX-License-Identifier: Apache-2.0
// tools/weir/graph/graphviz.hpp - runs Graphviz's program `dot`.
#pragma once

#include <string>
#include <string_view>

namespace weir::tool {

// Runs `dot -Tformat`, found in PATH and started without a shell, with a graph in the DOT language
// as its input. Writes the picture to an open file. Returns its warnings. Throws failure with its
// message and exit status, or with the name of the package to install.
std::string run_dot(const std::string& format, std::string_view graph, int output);

}  // namespace weir::tool
