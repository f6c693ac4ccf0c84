// graphs/sequence.hpp - random calls from a seed.
#pragma once

#include "graphs/sequence_state.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace weir::graphs {

struct result {
  std::optional<std::string> finding;
  unsigned step = 0;                // at which it was found
  std::string text;                 // the calls, a line each
  std::vector<std::string> waited;  // for what was held: names of calls
};

// A sequence of so many steps, but for those that are left out. The choices of a step depend on the
// seed and on its number. After a finding all is left as it is: the model does not know it any
// more, and a GPU's driver crashes on handles of what is gone.
[[nodiscard]] result run(driver_under_test& in, concurrency_mode concurrency, std::uint64_t seed,
                         unsigned steps, const std::set<unsigned>& left_out = {});

}  // namespace weir::graphs
