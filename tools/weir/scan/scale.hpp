// scan/scale.hpp - the scale of a histogram's pictures: logarithmic, for in most files a few bytes
// outnumber all others.
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

// Where on it a share of all bytes is: 0 for the least that is shown, and what is less, 1 for all.
[[nodiscard]] inline double height_of(double share) {
  const double least = scale_marks.back().share;
  return share <= least ? 0 : std::min(1.0, 1 - std::log(share) / std::log(least));
}

}  // namespace weir::tool::scan
