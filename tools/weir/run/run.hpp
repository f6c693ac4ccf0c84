// SPDX-License-Identifier: Apache-2.0
// tools/weir/run/run.hpp - the command `weir run`.
#pragma once

#include <CLI/App.hpp>

namespace weir::tool {

// Adds the command to the program.
void add_run(CLI::App& program);

}  // namespace weir::tool
