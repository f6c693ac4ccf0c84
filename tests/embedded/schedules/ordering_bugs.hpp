// SPDX-License-Identifier: Apache-2.0
// schedules/ordering_bugs.hpp - small programs with one ordering bug each, and their repairs.
#pragma once

#include <span>

#include "embedded/schedules/recorder.hpp"

namespace weir::test {

// Whether a program has its bug.
enum class variant : unsigned char { bug, repaired };

// A program with an ordering bug.
struct ordering_bug {
  const char* name;
  // The number of ordering constraints between operations that show the bug together.
  int depth;
  // Runs the program. `distance`: how many operations have to be overtaken to show the bug. Returns
  // true if the data are right.
  bool (*run)(const recorder& r, variant kind, int distance);
};

[[nodiscard]] std::span<const ordering_bug> ordering_bugs() noexcept;

}  // namespace weir::test
