// stage/stage.hpp - the command `weir stage`.
#pragma once

#include <CLI/App.hpp>

namespace weir::tool {

// Adds the command with its options to the program; it runs when the command line names it. It
// throws failure or weir::error where the job cannot be done, and failure where what came back is
// not what was sent.
void add_stage(CLI::App& program);

}  // namespace weir::tool
