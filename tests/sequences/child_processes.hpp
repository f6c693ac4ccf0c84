// sequences/child_processes.hpp - sequences in processes of their own, so that a driver that
// crashes or hangs is an answer, too.
#pragma once

#include "sequences/recording.hpp"
#include "sequences/world.hpp"

namespace weir::sequences {

struct work_list {
  std::vector<std::uint64_t> seeds;
  unsigned length = 40;    // steps of a sequence
  unsigned jobs = 1;       // processes at a time
  unsigned budget = 3600;  // seconds; what was not reached by then is not answered
  handles allowed = handles::checked_only;
};

// What every seed answered. A text that ends in "crash" or "hang" tells how far the driver came.
// The calling process does not touch the driver.
[[nodiscard]] recording run_in_children(const work_list& work);

// One sequence in this process, for a debugger.
[[nodiscard]] std::string run_here(std::uint64_t seed, unsigned length, handles allowed);

}  // namespace weir::sequences
