// SPDX-License-Identifier: Apache-2.0
// embedded/table.hpp - the embedded driver's function table, for programs that run it in their own
// process.
#pragma once

#include "driver/table.hpp"

namespace weir::embedded {

// Returns every function of the embedded driver.
[[nodiscard]] const detail::driver_table& table() noexcept;

}  // namespace weir::embedded
