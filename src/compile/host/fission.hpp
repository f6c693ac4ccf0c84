// SPDX-License-Identifier: Apache-2.0
// compile/host/fission.hpp - a kernel with barriers as loops over the threads between them, so that
// its threads need no stacks of their own and the compiler may make vector instructions of it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "compile/host/scanner.hpp"

namespace weir::compile {

struct fissioned {
  std::string parameters;  // as a declaration has them
  std::string body;        // braces included
};

// A function with the kernel's parameters that runs all threads of a block. Nothing where
// something is not understood with certainty: a barrier in a condition or loop that may differ
// between threads, one in another function, functions of a warp, lambdas, gotos.
//
// What the threads compute between barriers is the source's text. A variable that lives across a
// barrier is computed again where that is certain to give the same, else there is one a thread.
// Where this took something for certain that is not, the text does not compile. `dynamic` gives the
// text for the declaration of dynamic shared memory that begins at a token; `beginning` stands at
// the start of the body.
[[nodiscard]] std::optional<fissioned> fission(
    const token_list& list, const scan_result& found, const kernel_text& kernel,
    const std::function<std::string(std::size_t)>& dynamic, const std::string& beginning);

}  // namespace weir::compile
