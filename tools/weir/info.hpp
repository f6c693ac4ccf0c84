// SPDX-License-Identifier: Apache-2.0
// tools/weir/info.hpp - the command `weir info`.
#pragma once

#include <CLI/App.hpp>

namespace weir::tool {

// Adds the command to the program. It prints the driver in use and the reason for that choice, the
// drivers found, and the devices.
void add_info(CLI::App& program);

}  // namespace weir::tool
