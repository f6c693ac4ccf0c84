// info.hpp - the command `weir info`.
#pragma once

#include <CLI/App.hpp>

namespace weir::tool {

// Adds the command to the program: which driver is in use and why, what was found, and what its
// devices are.
void add_info(CLI::App& program);

}  // namespace weir::tool
