// SPDX-License-Identifier: Apache-2.0
// kernel/services.hpp - what the driver offers to kernels that run.
#pragma once

#include "driver/abi/module_abi.h"

namespace weir::embedded::kernel {

// One for all images, which are given it before anything of theirs runs.
const weir_services& services() noexcept;

}  // namespace weir::embedded::kernel
