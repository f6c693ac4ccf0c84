// scan/histogram_svg.hpp - a histogram as a drawing.
#pragma once

#include "scan/findings.hpp"

#include <string>
#include <string_view>

namespace weir::tool::scan {

// An SVG file: a bar a byte, which tells its share when it is pointed at, with the scale and the
// title. In the colours that the viewer prefers, light or dark. The title is any text; what is no
// UTF-8 in it is replaced.
[[nodiscard]] std::string histogram_svg(const findings& found, std::string_view title);

}  // namespace weir::tool::scan
