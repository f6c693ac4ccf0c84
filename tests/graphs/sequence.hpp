// SPDX-License-Identifier: Apache-2.0
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
  unsigned step = 0;                // that found it
  std::string text;                 // the calls, one line each
  std::vector<std::string> waited;  // names of calls that waited for blocked streams
};

// Runs a sequence of `length` steps, without those that are left out. A step's choices depend on
// the seed and its number. After a finding all objects are left alone: the model no longer matches
// the driver, and a GPU's driver crashes on destroyed handles.
[[nodiscard]] result run(driver_under_test& in, concurrency_mode concurrency, std::uint64_t seed,
                         unsigned steps, const std::set<unsigned>& left_out = {});

}  // namespace weir::graphs
