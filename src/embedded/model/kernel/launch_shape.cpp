// SPDX-License-Identifier: Apache-2.0
// embedded/model/kernel/launch_shape.cpp - checks grids, blocks and clusters against the limits.
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

CUresult check_cluster(const function& launched, launch_shape& shape) noexcept {
  const weir_extent compiled_cluster = launched.cluster();
  if (is_zero(shape.cluster))
    shape.cluster = is_zero(compiled_cluster) ? weir_extent{1, 1, 1} : compiled_cluster;
  const bool large = launched.value_of(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) != 0;
  const unsigned maximum = large ? limits::non_portable_cluster : limits::portable_cluster;
  return has_valid_cluster(shape, compiled_cluster, maximum) ? CUDA_SUCCESS
                                                             : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

bool has_valid_cluster(const launch_shape& shape, const weir_extent& compiled_cluster,
                       unsigned max_blocks) noexcept {
  const weir_extent& size = shape.cluster;
  return is_multiple(shape.grid, size) && volume(size) <= max_blocks &&
         (is_zero(compiled_cluster) || is_same(compiled_cluster, size));
}

bool is_multiple(const weir_extent& multiple, const weir_extent& size) noexcept {
  return volume(size) != 0 && multiple.x % size.x == 0 && multiple.y % size.y == 0 &&
         multiple.z % size.z == 0;
}

bool can_be_resident(const launch_shape& shape, const block_resources& resources,
                     const device& target_device) noexcept {
  const int multiprocessors = target_device.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  const std::uint64_t blocks =
      resident_blocks(resources, static_cast<unsigned>(volume(shape.block)), shape.shared);
  return volume(shape.grid) <= blocks * static_cast<unsigned>(multiprocessors);
}

CUresult check_shape(const function& launched, launch_shape& shape) noexcept {
  if (!is_within(shape.grid, max_grid) || !is_within(shape.block, max_block))
    return CUDA_ERROR_INVALID_VALUE;
  const std::uint64_t threads = volume(shape.block);
  if (threads > limits::threads_per_block || threads > launched.kernel().max_threads)
    return CUDA_ERROR_INVALID_VALUE;
  const bool fits = !shape.cooperative ||
                    can_be_resident(shape, block_resources_of(launched), launched.owner().owner());
  // 0 always fits and needs no lookup of the limit.
  if (fits && shape.shared != 0 && shape.shared > launched.max_dynamic_shared())
    return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check_cluster(launched, shape)) return error;
  return fits ? CUDA_SUCCESS : CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

}  // namespace weir::embedded::model
