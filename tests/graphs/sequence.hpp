// graphs/sequence.hpp - random calls from a seed, and the shortest of them that find the same.
#pragma once

#include "graphs/world.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace weir::graphs {

struct result {
  std::optional<std::string> finding;
  unsigned step = 0;              // at which it was found
  std::vector<std::string> text;  // the calls
};

// A sequence of so many steps, but for those that are left out. The choices of a step depend on the seed and on its number.
[[nodiscard]] result run(lane& in, company with, std::uint64_t seed, unsigned steps,
                         const std::set<unsigned>& left_out = {});

// Leaves out what can be, so that something is still found.
[[nodiscard]] result shrink(lane& in, company with, std::uint64_t seed, result found);

}  // namespace weir::graphs
