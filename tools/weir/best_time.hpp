// best_time.hpp - the shortest of several times.
#pragma once

#include <algorithm>
#include <limits>

namespace weir::tool {

// Measurements take turns, so that what changes on the machine meanwhile changes all of them; the
// best of each counts.
class best_time {
 public:
  void add(double seconds) { seconds_ = std::min(seconds_, seconds); }
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  double seconds_ = std::numeric_limits<double>::infinity();
};

}  // namespace weir::tool
