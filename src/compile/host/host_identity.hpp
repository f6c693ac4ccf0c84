// SPDX-License-Identifier: Apache-2.0
// compile/host/host_identity.hpp - which compiler of this machine is asked.
#pragma once

#include <string>

namespace weir::compile {

// The path of WEIR_CXX, or of the first of g++, clang++ and c++ that there is. Throws failure where
// there is none.
[[nodiscard]] std::string host_compiler();

}  // namespace weir::compile
