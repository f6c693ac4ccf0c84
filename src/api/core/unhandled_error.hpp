// SPDX-License-Identifier: Apache-2.0
// api/core/unhandled_error.hpp - the handler of failures that cannot be thrown.
#pragma once

#include <exception>

namespace weir::detail {

// Passes the failure to the handler of set_unhandled_error_handler(). Does nothing in a forked
// child, whose objects belong to the parent.
void call_unhandled_error_handler(std::exception_ptr failure) noexcept;

}  // namespace weir::detail
