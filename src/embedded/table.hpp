// embedded/table.hpp - the embedded driver as a table, for programs that have it in their own
// process.
#pragma once

#include "driver/table.hpp"

namespace weir::embedded {

// Every function of the embedded driver. Those that later.def lists answer
// CUDA_ERROR_NOT_SUPPORTED.
[[nodiscard]] const detail::driver_table& table() noexcept;

}  // namespace weir::embedded
