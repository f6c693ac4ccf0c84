// SPDX-License-Identifier: Apache-2.0
// model/kernel/launch_shape.cpp - checks grids, blocks and clusters against the limits.
#include "embedded/model/kernel/launch_shape.hpp"

#include <cstdint>

#include "embedded/model/core/context.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/kernel/function.hpp"
#include "embedded/model/kernel/occupancy.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

constexpr weir_extent max_grid{0x7fffffff, 65535, 65535};
constexpr weir_extent max_block{1024, 1024, 64};

bool is_within(const weir_extent& size, const weir_extent& maximum) noexcept {
  // Also rejects 0, which wraps around.
  return size.x - 1 < maximum.x && size.y - 1 < maximum.y && size.z - 1 < maximum.z;
}

bool is_zero(const weir_extent& size) noexcept { return size.x == 0 && size.y == 0 && size.z == 0; }
std::uint64_t volume(const weir_extent& size) noexcept {
  return std::uint64_t{size.x} * size.y * size.z;
}

bool is_same(const weir_extent& a, const weir_extent& b) noexcept {
  return a.x == b.x && a.y == b.y && a.z == b.z;
}

}  // namespace

CUresult check_cluster(const function& of, launch_shape& shape) noexcept {
  const weir_extent compiled_cluster = of.cluster();
  if (is_zero(shape.cluster))
    shape.cluster = is_zero(compiled_cluster) ? weir_extent{1, 1, 1} : compiled_cluster;
  const weir_extent& size = shape.cluster;
  const bool large = of.value_of(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) != 0;
  const unsigned maximum = large ? limits::non_portable_cluster : limits::portable_cluster;
  const bool fits = is_multiple(shape.grid, size) && volume(size) <= maximum &&
                    (is_zero(compiled_cluster) || is_same(compiled_cluster, size));
  return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

bool is_multiple(const weir_extent& of, const weir_extent& size) noexcept {
  return volume(size) != 0 && of.x % size.x == 0 && of.y % size.y == 0 && of.z % size.z == 0;
}

CUresult check_shape(const function& of, launch_shape& shape) noexcept {
  const weir_kernel& kernel = of.kernel();
  if (!is_within(shape.grid, max_grid) || !is_within(shape.block, max_block))
    return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t threads = volume(shape.block);
  if (threads > limits::threads_per_block || threads > kernel.max_threads)
    return CUDA_ERROR_INVALID_VALUE;
  if (shape.shared != 0 && shape.shared > of.max_dynamic_shared()) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult status = check_cluster(of, shape); status != CUDA_SUCCESS) return status;
  if (!shape.cooperative) return CUDA_SUCCESS;
  int multiprocessors = 0;
  (void)of.owner().owner().attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, multiprocessors);
  const std::uint64_t resident =
      resident_blocks(block_resources_of(of), static_cast<unsigned>(threads), shape.shared);
  const bool fits = volume(shape.grid) <= resident * static_cast<unsigned>(multiprocessors);
  return fits ? CUDA_SUCCESS : CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

}  // namespace weir::embedded::model
