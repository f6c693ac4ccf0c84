// SPDX-License-Identifier: Apache-2.0
// cases/kernel/modules.hpp - a module for cases about modules.
#pragma once

#include "cases/kernel/kernels.hpp"
#include "probe/probe.hpp"

#include <string>

namespace weir::conformance {

// Returns the code of a module: PTX, or the image of kernels/modules.cu. Kernels: store, empty,
// bounded (at most 256 threads, 1024 bytes of static shared memory), clustered (2 blocks).
// Variables: word, fixed (constant) and both (managed).
const void* asked_module();

// Records every attribute of a function.
void rec_attributes(Rec& r, const std::string& key, CUfunction f);

}  // namespace weir::conformance
