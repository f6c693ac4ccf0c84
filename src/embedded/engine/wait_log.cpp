// engine/wait_log.cpp - following waits from timeline to timeline.
#include "embedded/engine/wait_log.hpp"

#include <algorithm>
#include <limits>

#include "embedded/engine/timeline.hpp"

namespace weir::embedded::engine {

std::uint64_t known_to_precede(const timeline& of, const timeline& asker) noexcept {
  // Breadth first, over as many places as streams are usually ordered through.
  struct place {
    const timeline* line;
    std::uint64_t end;
  };
  std::array<place, 32> places;
  places[0] = {&asker, std::numeric_limits<std::uint64_t>::max()};
  std::size_t count = 1;
  std::uint64_t known = 0;
  for (std::size_t i = 0; i < count; ++i) {
    places[i].line->waits().for_each_before(places[i].end, [&](point until) {
      if (until.line == &of) {
        known = std::max(known, until.count);
        return;
      }
      const auto end = places.begin() + static_cast<std::ptrdiff_t>(count);
      const auto met = std::find_if(places.begin(), end, [&](const place& p) { return p.line == until.line; });
      if (met != end && met->end >= until.count) return;
      if (count < places.size()) places[count++] = {until.line, until.count};
    });
  }
  return known;
}

void make_known_to_host(point until) noexcept {
  std::array<point, 32> points;
  points[0] = until;
  std::size_t count = until.line != nullptr ? 1 : 0;
  for (std::size_t i = 0; i < count; ++i) {
    const point known = points[i];
    known.line->make_known_to_host(known.count);
    known.line->waits().for_each_before(known.count, [&](point before) {
      if (count < points.size() && !before.line->is_known_to_host(before.count)) points[count++] = before;
    });
  }
}

}  // namespace weir::embedded::engine
