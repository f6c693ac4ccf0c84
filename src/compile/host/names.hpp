// SPDX-License-Identifier: Apache-2.0
// compile/host/names.hpp - what may wait because a name leads to a wait: a kernel that calls a
// function that calls another, an object of a class with a barrier in it. Names are taken as they
// stand, whatever scope they have.
#pragma once

#include <string>
#include <vector>

#include "compile/host/scanner.hpp"
#include "compile/host/token.hpp"

namespace weir::compile {

// Something with a name at the scope of a namespace or a class: a function, a variable, a class, an
// alias.
struct entity {
  std::string name;
  token_range all;  // from the first specifier
  bool waits = false;
  bool spins = false;
  bool variable = false;  // of the device
};

// Notes in `found`, whose kernels are all there, what spins and what waits: by itself
// (waiting.hpp), by the look of a loop (spinning.hpp), or by a name that it mentions.
void follow_names(const std::vector<token>& tokens, std::vector<entity> entities,
                  scan_result& found);

// Does anything in the range wait, as far as names tell?
[[nodiscard]] bool waits(const std::vector<token>& tokens, token_range range,
                         const scan_result& found);

}  // namespace weir::compile
