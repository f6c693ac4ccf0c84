// SPDX-License-Identifier: Apache-2.0
// tools/weir/graphviz.hpp - runs Graphviz's program `dot`.
#pragma once

#include <string>

namespace weir::tool {

// Runs `dot -Tformat`, found in PATH and started without a shell, from one open file to another.
// Returns its warnings. Throws failure with its message and exit status, or with the name of the
// package to install.
std::string run_dot(const std::string& format, int input, int output);

}  // namespace weir::tool
