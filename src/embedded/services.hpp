// SPDX-License-Identifier: Apache-2.0
// embedded/services.hpp - engine services for a program that runs the embedded driver in its own
// process.
#pragma once

#include "driver/engine_services.hpp"

namespace weir::embedded {

// Returns the functions of the embedded driver that CUDA does not have.
[[nodiscard]] const detail::engine_services& services() noexcept;

}  // namespace weir::embedded
