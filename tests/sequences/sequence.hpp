// SPDX-License-Identifier: Apache-2.0
// sequences/sequence.hpp - runs one sequence of calls, including set-up and clean-up.
#pragma once

#include "sequences/world.hpp"

#include <span>
#include <string_view>

namespace weir::sequences {

// Makes at most `length` steps while there are choices left, and destroys all that they made.
// Returns the calls and their results, which are stored in `text`.
std::string_view run_sequence(process& p, choice_source& d, unsigned length, std::span<char> text);

}  // namespace weir::sequences
