// SPDX-License-Identifier: Apache-2.0
// compile/host/unsupported.hpp - what a source uses that kernels on the host's processor cannot
// have, named before the compiler stumbles over it.
#pragma once

#include <string>
#include <vector>

#include "compile/host/token.hpp"

namespace weir::compile {

// Lines as a compiler writes them: "file:line: error: what". Empty where everything is supported.
[[nodiscard]] std::vector<std::string> unsupported(const token_list& list);

}  // namespace weir::compile
