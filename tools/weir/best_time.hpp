// SPDX-License-Identifier: Apache-2.0
// tools/weir/best_time.hpp - the shortest of several measured times.
#pragma once

#include <algorithm>
#include <limits>

namespace weir::tool {

// Measurements of several variants alternate, so a change on the machine affects all of them. The
// best time of each variant counts.
class best_time {
 public:
  void add(double seconds) { seconds_ = std::min(seconds_, seconds); }
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  double seconds_ = std::numeric_limits<double>::infinity();
};

}  // namespace weir::tool
