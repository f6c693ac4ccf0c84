// scan/on_host.hpp - the same found out without a device, for comparison: by zlib and a plain loop.
#pragma once

#include "input_file.hpp"
#include "scan/findings.hpp"
#include "scan/plan.hpp"

namespace weir::tool::scan {

struct host_result {
  findings found;
  double seconds = 0;  // from the first read on
};

// On plan.readers threads. `plan` is fitted to the file. Throws failure if it cannot be read.
[[nodiscard]] host_result scan_on_host(const input_file& file, const plan& plan);

}  // namespace weir::tool::scan
