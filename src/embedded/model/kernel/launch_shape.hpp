// model/launch_shape.hpp - over how many threads a kernel is launched, and what the device says to
// that.
#pragma once

#include "driver/abi.hpp"
#include "embedded/kernel/image/module_abi.h"

namespace weir::embedded::model {

class function;

struct launch_shape {
  weir_extent grid{1, 1, 1};
  weir_extent block{1, 1, 1};
  weir_extent cluster{1, 1, 1};
  unsigned shared = 0;  // bytes of dynamic shared memory
  bool cooperative = false;

  [[nodiscard]] bool clustered() const noexcept { return cluster.x * cluster.y * cluster.z > 1; }
};

// Can the function be launched so? `cluster` of {0, 0, 0} becomes the function's own, or {1, 1, 1}.
// CUDA_ERROR_INVALID_VALUE for sizes that are none, or beyond what a grid, a block or the function
// has; CUDA_ERROR_INVALID_CLUSTER_SIZE as check_cluster() says;
// CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE for more blocks than an H200 runs at the same time.
abi::CUresult check_shape(const function& of, launch_shape& shape) noexcept;

// The clusters alone. CUDA_ERROR_INVALID_CLUSTER_SIZE for one that is none or too large, that does
// not divide the grid, or is not the one that the function was compiled for.
abi::CUresult check_cluster(const function& of, launch_shape& shape) noexcept;

// Does the one consist of whole ones of the other, in each direction?
bool is_multiple(const weir_extent& of, const weir_extent& size) noexcept;

}  // namespace weir::embedded::model
