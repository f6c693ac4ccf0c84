// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/on_host.hpp - scans a file without a device, for comparison: with zlib and a
// plain loop.
#pragma once

#include "input_file.hpp"
#include "scan/findings.hpp"
#include "scan/plan.hpp"

namespace weir::tool::scan {

struct host_result {
  findings found;
  double seconds = 0;  // measured from the first read
};

// Runs on plan.readers threads. `plan` must be fitted to the file. Throws failure if the file
// cannot be read.
[[nodiscard]] host_result scan_on_host(const input_file& file, const plan& plan);

}  // namespace weir::tool::scan
