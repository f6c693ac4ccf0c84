// SPDX-License-Identifier: Apache-2.0
// kernel/image/writable_variables.hpp - variables of a module that its language calls const, and
// the host may write to.
#pragma once

#include "driver/abi/module_abi.h"

namespace weir::embedded::kernel {

// Compilers put constants among what only can be read. A copy from the host to one of them is a
// copy as any other to the device's memory, so their pages become writable.
void make_variables_writable(const weir_module_table& module) noexcept;

}  // namespace weir::embedded::kernel
