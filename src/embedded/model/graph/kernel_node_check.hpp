// SPDX-License-Identifier: Apache-2.0
// model/graph/kernel_node_check.hpp - checks sizes and attributes of kernel nodes, set separately.
#pragma once

#include "embedded/model/kernel/kernel_work.hpp"

namespace weir::embedded::model {

// Checks a kernel, already checked in its own shape, in another shape. Returns
// CUDA_ERROR_INVALID_CLUSTER_SIZE for a cluster that is too large, does not divide the grid, or
// differs from the compiled one. Returns CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE if the blocks of a
// cooperative launch cannot all be resident.
//
// Function attributes may have changed since, so their largest settable values apply.
[[nodiscard]] abi::CUresult check_kernel_node_shape(const kernel_work& of,
                                                    const launch_shape& shape) noexcept;

// Returns the shape of a node with new parameters and old attributes: cooperation and, unless one
// of the kernels has a compiled cluster, the cluster.
[[nodiscard]] launch_shape shape_with_attributes(const kernel_work& now,
                                                 const kernel_work& of) noexcept;

}  // namespace weir::embedded::model
