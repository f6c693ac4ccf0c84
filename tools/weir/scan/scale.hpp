// SPDX-License-Identifier: Apache-2.0
// tools/weir/scan/scale.hpp - the scale of histograms: logarithmic, because in most files a few
// bytes outnumber all others.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace weir::tool::scan {

struct scale_mark {
  double share;
  std::string_view name;
};
inline constexpr std::array<scale_mark, 5> scale_marks{
    {{1, "100 %"}, {1e-1, "10 %"}, {1e-2, "1 %"}, {1e-3, "0.1 %"}, {1e-4, "0.01 %"}}};

// Returns the position of a share on the scale: 1 for a share of 100 %, 0 for a share of 0.01 % or
// less.
[[nodiscard]] inline double height_of(double share) {
  const double least = scale_marks.back().share;
  return share <= least ? 0 : std::min(1.0, 1 - std::log(share) / std::log(least));
}

}  // namespace weir::tool::scan
