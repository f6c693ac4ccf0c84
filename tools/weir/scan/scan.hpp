// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/scan.hpp - the command `weir scan`.
#pragma once

#include <CLI/App.hpp>

namespace weir::tool {

// Adds the command to the program; it runs when the command line names it. It throws failure or
// weir::error if the job cannot be done, and failure if the results of the device and the host
// differ.
void add_scan(CLI::App& program);

}  // namespace weir::tool
