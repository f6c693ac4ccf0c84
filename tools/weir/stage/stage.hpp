// SPDX-License-Identifier: Apache-2.0
// tools/weir/stage/stage.hpp - the command `weir stage`.
#pragma once

#include <CLI/App.hpp>

namespace weir::tool {

// Adds the command to the program; it runs when the command line names it. It throws failure or
// weir::error if the job cannot be done, and failure if the returned data differs from the file.
void add_stage(CLI::App& program);

}  // namespace weir::tool
