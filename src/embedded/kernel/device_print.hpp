// SPDX-License-Identifier: Apache-2.0
// kernel/device_print.hpp - printf() in kernels.
#pragma once

#include <cstdarg>

namespace weir::embedded::kernel {

// Writes to stdout, the text of a call in one piece. The answer is CUDA's: how many arguments the
// format names, -1 without a format, -2 for what cannot be formatted.
int print_from_device(const char* format, std::va_list arguments);

// How many arguments a format names, a width or a precision of * included.
[[nodiscard]] int arguments_named_by(const char* format) noexcept;

}  // namespace weir::embedded::kernel
