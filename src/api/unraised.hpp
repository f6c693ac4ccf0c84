// api/unraised.hpp - the hook for failures that cannot be thrown.
#pragma once

#include <exception>

namespace weir::detail {

// Gives it to the hook in use.
void raise_to_hook(std::exception_ptr failure) noexcept;

}  // namespace weir::detail
