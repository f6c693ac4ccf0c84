// SPDX-License-Identifier: Apache-2.0
// graphs/shrink.hpp - finds the fewest steps that reproduce a finding, with each attempt in its own
// process.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>

namespace weir::graphs {

// A sequence as options of this program.
struct reproduction {
  std::uint64_t seed;
  unsigned sequence;  // for an odd seed: which of its sequences, alone
  unsigned length;
  unsigned limit;  // in seconds, for each attempt
  std::chrono::seconds wait_limit;
  std::set<unsigned> left_out{};
};

// Leaves out steps for at most `seconds`, then prints the output of the last process.
void shrink(reproduction of, unsigned seconds);

}  // namespace weir::graphs
