// SPDX-License-Identifier: Apache-2.0
// tools/weir/best_time.hpp - the shortest of several measured times.
#pragma once

#include <algorithm>
#include <limits>

namespace weir::tool {

// Keeps the shortest of several measured times of one variant. Callers alternate between the
// variants that they compare, so that a change on the machine affects all of them.
class best_time {
 public:
  void add(double seconds) { seconds_ = std::min(seconds_, seconds); }
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  double seconds_ = std::numeric_limits<double>::infinity();
};

}  // namespace weir::tool
