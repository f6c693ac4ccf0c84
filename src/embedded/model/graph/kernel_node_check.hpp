// model/kernel_node_check.hpp - whether sizes and attributes of a kernel's node, which are set one
// by one, fit each other.
#pragma once

#include "embedded/model/kernel/kernel_work.hpp"

namespace weir::embedded::model {

// Can a kernel that was checked for its own shape run in another one?
// CUDA_ERROR_INVALID_CLUSTER_SIZE where the cluster is too large, does not divide the grid, or is
// not the one that the kernel was compiled for; CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE where not
// all blocks of a cooperative launch are there at the same time. What was set of the function may
// have changed or gone since: the most that can be set counts.
[[nodiscard]] abi::CUresult check_kernel_node_shape(const kernel_work& of,
                                                    const launch_shape& shape) noexcept;

// The shape of a node that gets other parameters and keeps its attributes: cooperation, and the
// cluster, unless one of the kernels was compiled for one.
[[nodiscard]] launch_shape shape_with_attributes(const kernel_work& now,
                                                 const kernel_work& of) noexcept;

}  // namespace weir::embedded::model
