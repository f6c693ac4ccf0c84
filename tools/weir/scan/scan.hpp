// scan/scan.hpp - the command `weir scan`.
#pragma once

#include <CLI/App.hpp>

namespace weir::tool {

// Adds the command with its options to the program; it runs when the command line names it. It
// throws failure or weir::error where the job cannot be done, and failure where the device found
// out something else than the host.
void add_scan(CLI::App& program);

}  // namespace weir::tool
