// SPDX-License-Identifier: Apache-2.0
// embedded/model/kernel/launch_shape.hpp - the sizes of a launch, and the limits of the device.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"
#include "driver/abi/module_abi.h"

namespace weir::embedded::model {

class device;
class function;
struct block_resources;

// The limits of a block and a multiprocessor of an H200, compute capability 9.0.
namespace limits {

inline constexpr std::size_t kib = 1024;

inline constexpr int architecture = 90;  // as in function attributes and in device_attributes.cpp
inline constexpr unsigned warp_size = 32;
inline constexpr unsigned threads_per_block = 1024;
inline constexpr unsigned warps_per_multiprocessor = 64;
inline constexpr unsigned blocks_per_multiprocessor = 32;

// Kernels use no device registers. They report the largest number of registers with which a
// multiprocessor can still hold its maximum number of threads.
inline constexpr unsigned registers_per_multiprocessor = 65536;
inline constexpr unsigned registers_per_thread =
    registers_per_multiprocessor / (warps_per_multiprocessor * warp_size);

// The largest shared memory of a block, unless the program has set a larger maximum for the
// function; then shared_per_block_opt_in.
inline constexpr std::size_t shared_per_block = 48 * kib;
// The largest shared memory of a block if CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES is set.
inline constexpr std::size_t shared_per_block_opt_in = 227 * kib;
inline constexpr std::size_t shared_per_multiprocessor = 228 * kib;
inline constexpr std::size_t shared_reserved_per_block = 1 * kib;
inline constexpr std::size_t shared_granularity = 128;

// The possible sizes of a multiprocessor's shared memory; the rest is cache.
inline constexpr std::size_t shared_sizes[] = {0,         8 * kib,   16 * kib,  32 * kib,
                                               64 * kib,  100 * kib, 132 * kib, 164 * kib,
                                               196 * kib, 228 * kib};

// The number of multiprocessors in each hardware group. All blocks of a cluster run in one group,
// each on a multiprocessor of its own.
inline constexpr unsigned multiprocessor_groups[] = {18, 18, 16, 16, 16, 16, 16, 8, 2, 2, 2, 2};

inline constexpr unsigned portable_cluster = 8;       // blocks
inline constexpr unsigned non_portable_cluster = 16;  // blocks, if the function allows it

}  // namespace limits

struct launch_shape {
  weir_extent grid{1, 1, 1};
  weir_extent block{1, 1, 1};
  weir_extent cluster{1, 1, 1};
  unsigned shared = 0;  // bytes of dynamic shared memory
  bool cooperative = false;

  [[nodiscard]] bool clustered() const noexcept { return cluster.x * cluster.y * cluster.z > 1; }
};

// Checks a launch of the function. Replaces a cluster of {0, 0, 0} by the function's cluster, or by
// {1, 1, 1} if the function has none.
//
// Returns CUDA_ERROR_INVALID_VALUE for a size of 0 or beyond a limit of grid, block or function.
// Returns CUDA_ERROR_INVALID_CLUSTER_SIZE as check_cluster(). Returns
// CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE for more blocks than an H200 runs at a time.
abi::CUresult check_shape(const function& launched, launch_shape& shape) noexcept;

// Checks only the cluster, and replaces {0, 0, 0} like check_shape(). Returns
// CUDA_ERROR_INVALID_CLUSTER_SIZE if one dimension is 0, if the cluster is too large or does not
// divide the grid, or if the function has another fixed cluster size.
abi::CUresult check_cluster(const function& launched, launch_shape& shape) noexcept;

// Returns true if the cluster has at most `max_blocks` blocks and divides the grid. If
// `compiled_cluster` is not {0, 0, 0}, the cluster must also be equal to it.
bool has_valid_cluster(const launch_shape& shape, const weir_extent& compiled_cluster,
                       unsigned max_blocks) noexcept;

// Returns true if all blocks of the launch can be resident on the device at a time.
bool can_be_resident(const launch_shape& shape, const block_resources& resources,
                     const device& target_device) noexcept;

// Returns true if `multiple` is a multiple of `size` in each dimension.
bool is_multiple(const weir_extent& multiple, const weir_extent& size) noexcept;

}  // namespace weir::embedded::model
