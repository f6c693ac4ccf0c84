// scan/histogram_text.hpp - a histogram for a terminal.
#pragma once

#include "scan/findings.hpp"

#include <string>

namespace weir::tool::scan {

// A few lines: four bytes a column, by the mean of their shares, with the scale. With block
// characters, or in ASCII.
[[nodiscard]] std::string histogram_text(const histogram& counts, bool utf8);

}  // namespace weir::tool::scan
