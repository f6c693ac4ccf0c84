// SPDX-License-Identifier: Apache-2.0
// sequences/child_processes.hpp - runs sequences in child processes, so that a crash or hang of the
// driver is a recorded answer.
#pragma once

#include "sequences/recording.hpp"
#include "sequences/world.hpp"

namespace weir::sequences {

struct work_list {
  std::vector<std::uint64_t> seeds;
  unsigned length = 40;    // steps of a sequence
  unsigned jobs = 1;       // processes at a time
  unsigned budget = 3600;  // seconds; sequences not reached by then have no answer
  handles allowed = handles::checked_only;
};

// Returns the answers of every seed. A text that ends in "crash" or "hang" shows how far the driver
// came. The calling process does not use the driver.
[[nodiscard]] recording run_in_children(const work_list& work);

// Runs one sequence in this process, for a debugger.
[[nodiscard]] std::string run_here(std::uint64_t seed, unsigned length, handles allowed);

}  // namespace weir::sequences
