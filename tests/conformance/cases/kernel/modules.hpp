// cases/modules.hpp - a module for cases that ask about modules.
#pragma once

#include "cases/kernel/kernels.hpp"
#include "probe/probe.hpp"

#include <string>

namespace weir::conformance {

// The code of a module, PTX or the image of kernels/modules.cu. Kernels store, empty, bounded (at
// most 256 threads, 1024 bytes of static shared memory), clustered (2 blocks); variables word,
// fixed (constant) and both (managed).
const void* asked_module();

// Records every attribute of a function.
void rec_attributes(Rec& r, const std::string& key, CUfunction f);

}  // namespace weir::conformance
