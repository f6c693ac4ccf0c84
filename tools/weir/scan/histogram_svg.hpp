// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/histogram_svg.hpp - draws a histogram as an SVG file.
#pragma once

#include "scan/findings.hpp"

#include <string>
#include <string_view>

namespace weir::tool::scan {

// Returns an SVG file with a bar for each byte value, which shows its share as a tooltip, a scale
// and the title. It follows the viewer's light or dark colour scheme. Invalid UTF-8 in the title is
// replaced.
[[nodiscard]] std::string histogram_svg(const findings& found, std::string_view title);

}  // namespace weir::tool::scan
