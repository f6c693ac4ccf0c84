// api/core/hint.hpp - what to do about an error.
#pragma once

#include <weir/core/errc.hpp>

namespace weir::detail {

// In words; empty where there is nothing to say that the code's own text does not say.
[[nodiscard]] const char* hint_for(errc code, const char* call) noexcept;

}  // namespace weir::detail
