// SPDX-License-Identifier: Apache-2.0
// tools/weir/compile.hpp - the command `weir compile`.
#pragma once

#include <CLI/App.hpp>

namespace weir::tool {

// Adds the command to the program. It compiles CUDA C source into a module for the selected device,
// and writes it to a file.
void add_compile(CLI::App& program);

}  // namespace weir::tool
