// compile.hpp - the command `weir compile`.
#pragma once

#include <CLI/App.hpp>

namespace weir::tool {

// Adds the command to the program: compiles CUDA C source into a module for the device in use, and
// writes it to a file.
void add_compile(CLI::App& program);

}  // namespace weir::tool
