// sequences/sequence.hpp - one sequence of calls, from nothing to nothing.
#pragma once

#include "sequences/world.hpp"

#include <span>
#include <string_view>

namespace weir::sequences {

// Makes at most `length` steps, as long as there is anything to choose by, and takes back all that
// they made. Answers with what was called and what came of it, which lies in `text`.
std::string_view run_sequence(process& p, choice_source& d, unsigned length, std::span<char> text);

}  // namespace weir::sequences
