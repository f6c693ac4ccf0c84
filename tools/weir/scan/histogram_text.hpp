// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/histogram_text.hpp - draws a histogram for a terminal.
#pragma once

#include "scan/findings.hpp"

#include <string>

namespace weir::tool::scan {

// Returns a few lines with the scale. Each column shows the mean share of four byte values, with
// block characters or in ASCII.
[[nodiscard]] std::string histogram_text(const histogram& counts, bool utf8);

}  // namespace weir::tool::scan
