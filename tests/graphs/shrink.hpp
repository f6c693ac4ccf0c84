// graphs/shrink.hpp - the fewest steps that still find something, each try in a process of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>

namespace weir::graphs {

// A sequence as options of this program.
struct reproduction {
  std::uint64_t seed;
  unsigned sequence;  // of an odd seed: which of its sequences, alone
  unsigned length;
  unsigned limit;  // in seconds, of a try
  std::chrono::seconds wait_limit;
  std::set<unsigned> left_out{};
};

// Leaves out what can be left out, for so many seconds, and lets the last process print what it
// finds.
void shrink(reproduction of, unsigned seconds);

}  // namespace weir::graphs
