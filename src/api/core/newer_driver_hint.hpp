// api/core/newer_driver_hint.hpp - which driver has what this one lacks.
#pragma once

#include <string>

namespace weir::detail {

// "cuGraphAddNode is of CUDA 12.3 and later; ...", of a call that the driver has answered with
// CALL_REQUIRES_NEWER_DRIVER. A call that had other forms before is of the first one that this
// driver lacks.
[[nodiscard]] std::string newer_driver_hint(const char* call);

}  // namespace weir::detail
