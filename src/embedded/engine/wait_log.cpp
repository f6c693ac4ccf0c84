// SPDX-License-Identifier: Apache-2.0
// embedded/engine/wait_log.cpp - follows logged waits from timeline to timeline.
#include "embedded/engine/wait_log.hpp"

#include <algorithm>
#include <limits>

#include "embedded/engine/timeline.hpp"

namespace weir::embedded::engine {

std::uint64_t known_to_precede(const timeline& earlier, const timeline& later) noexcept {
  // Breadth-first search. It visits 32 timelines at most, which is enough for most programs.
  struct node {
    const timeline* line;
    std::uint64_t end;
  };
  std::array<node, 32> nodes;
  nodes[0] = {&later, std::numeric_limits<std::uint64_t>::max()};
  std::size_t count = 1;
  std::uint64_t known_count = 0;
  for (std::size_t i = 0; i < count; ++i) {
    nodes[i].line->waits().for_each_before(nodes[i].end, [&](point target) {
      if (target.line == &earlier) {
        known_count = std::max(known_count, target.count);
        return;
      }
      const auto end = nodes.begin() + static_cast<std::ptrdiff_t>(count);
      const auto found = std::find_if(
          nodes.begin(), end, [&](const node& visited) { return visited.line == target.line; });
      if (found != end && found->end >= target.count) return;
      if (count < nodes.size()) nodes[count++] = {target.line, target.count};
    });
  }
  return known_count;
}

void mark_known_to_host(point target) noexcept {
  std::array<point, 32> points;
  points[0] = target;
  std::size_t count = target.line != nullptr ? 1 : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const point known = points[i];
    known.line->mark_known_to_host(known.count);
    known.line->waits().for_each_before(known.count, [&](point earlier) {
      if (count < points.size() && !earlier.line->is_known_to_host(earlier.count))
        points[count++] = earlier;
    });
  }
}

}  // namespace weir::embedded::engine
