// SPDX-License-Identifier: Apache-2.0
// embedded/services.hpp - engine services for a program that runs the embedded driver in its own
// process.
#pragma once

#include "driver/engine_services.hpp"

namespace weir::embedded {

// Returns the services: functions of the embedded driver that the CUDA driver API does not have.
[[nodiscard]] const detail::engine_services& services() noexcept;

}  // namespace weir::embedded
