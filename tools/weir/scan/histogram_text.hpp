// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/histogram_text.hpp - draws a histogram for a terminal.
#pragma once

#include "scan/findings.hpp"

#include <string>

namespace weir::tool::scan {

// Returns a chart of a few lines with a scale, drawn with block characters or, without `utf8`, in
// ASCII. Each column stands for four consecutive byte values. Its height is a quarter of the share
// that these four values have among all bytes.
[[nodiscard]] std::string histogram_text(const histogram& counts, bool utf8);

}  // namespace weir::tool::scan
