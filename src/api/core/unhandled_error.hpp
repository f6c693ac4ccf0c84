// api/core/unhandled_error.hpp - the hook for failures that cannot be thrown.
#pragma once

#include <exception>

namespace weir::detail {

// Gives it to the hook in use. In a forked child nothing that cannot be thrown is a failure: what
// the child's objects name is the parent's.
void call_unhandled_error_handler(std::exception_ptr failure) noexcept;

}  // namespace weir::detail
