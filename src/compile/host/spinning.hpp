// SPDX-License-Identifier: Apache-2.0
// compile/host/spinning.hpp - loops in which a thread waits for another one by looking at memory.
#pragma once

#include <vector>

#include "compile/host/scanner.hpp"
#include "compile/host/token.hpp"

namespace weir::compile {

// Is there a loop in the range that may go round until another thread has written something, as far
// as its look tells? A `while` without a body is one; so is any `while`, `do` or endless `for`
// where volatile memory is used; and an endless loop with an atomic function in it. The loops that
// make an atomic function of a compare-and-swap are none.
[[nodiscard]] bool may_spin(const std::vector<token>& tokens, token_range range);

}  // namespace weir::compile
