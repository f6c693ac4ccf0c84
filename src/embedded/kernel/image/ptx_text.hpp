// SPDX-License-Identifier: Apache-2.0
// kernel/image/ptx_text.hpp - telling PTX from text that only begins like it.
#pragma once

#include <string>

namespace weir::embedded::kernel {

// Could an assembler of PTX take it? Looks at directives, the nesting of blocks and the names of
// instructions, and at nothing behind them. If not, `diagnostic` says where and why.
[[nodiscard]] bool is_ptx(const char* text, std::string& diagnostic);

}  // namespace weir::embedded::kernel
