// graphviz.hpp - Graphviz's program `dot`, where it is installed.
#pragma once

#include <string>

namespace weir::tool {

// Runs `dot -Tformat`, found in PATH and without a shell, from one open file to another. Gives what
// it had to say although it succeeded. Throws failure: with its own words and its status, or with
// the package that it is in.
std::string run_dot(const std::string& format, int input, int output);

}  // namespace weir::tool
