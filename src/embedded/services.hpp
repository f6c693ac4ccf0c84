// embedded/services.hpp - what the embedded driver offers programs that have it in their own
// process.
#pragma once

#include "driver/engine_services.hpp"

namespace weir::embedded {

[[nodiscard]] const detail::engine_services& services() noexcept;

}  // namespace weir::embedded
