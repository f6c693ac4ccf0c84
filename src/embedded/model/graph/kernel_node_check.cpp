// SPDX-License-Identifier: Apache-2.0
// model/graph/kernel_node_check.cpp - checks a kernel node's shape again when a part of it changes.
#include "embedded/model/graph/kernel_node_check.hpp"

#include <algorithm>
#include <cstdint>

#include "embedded/model/core/context.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/kernel/launch_shape.hpp"
#include "embedded/model/kernel/occupancy.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

std::uint64_t cluster_volume(const weir_extent& size) noexcept {
  return std::uint64_t{size.x} * size.y * size.z;
}

bool has_compiled_cluster(const weir_kernel& kernel) noexcept { return kernel.cluster.x != 0; }

bool is_cluster(const weir_kernel& of, const launch_shape& shape) noexcept {
  const weir_extent& size = shape.cluster;
  const weir_extent& compiled_cluster = of.cluster;
  if (!is_multiple(shape.grid, size) || cluster_volume(size) > limits::non_portable_cluster)
    return false;
  return !has_compiled_cluster(of) ||
         (compiled_cluster.x == size.x && compiled_cluster.y == size.y &&
          compiled_cluster.z == size.z);
}

std::uint64_t max_resident_blocks(const context& owner_context, const weir_kernel& of,
                                  const launch_shape& shape) noexcept {
  constexpr std::size_t shared = limits::shared_per_block_opt_in;
  const block_resources demand{
      .max_threads = of.max_threads,
      .static_shared = of.static_shared,
      .max_dynamic_shared = shared - std::min<std::size_t>(of.static_shared, shared),
      .shared_memory = limits::shared_per_multiprocessor,
      .registers = limits::registers_per_thread};
  int multiprocessors = 0;
  (void)owner_context.owner().attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, multiprocessors);
  const auto threads = static_cast<unsigned>(cluster_volume(shape.block));
  return std::uint64_t{resident_blocks(demand, threads, shape.shared)} *
         static_cast<unsigned>(multiprocessors);
}

}  // namespace

CUresult check_kernel_node_shape(const kernel_work& of, const launch_shape& shape) noexcept {
  if (!is_cluster(of.kernel(), shape)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  const bool fits = !shape.cooperative || cluster_volume(shape.grid) <=
                                              max_resident_blocks(*of.owner(), of.kernel(), shape);
  return fits ? CUDA_SUCCESS : CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
}

launch_shape shape_with_attributes(const kernel_work& now, const kernel_work& of) noexcept {
  launch_shape shape = now.shape();
  shape.cooperative = of.shape().cooperative;
  if (!has_compiled_cluster(now.kernel()) && !has_compiled_cluster(of.kernel()))
    shape.cluster = of.shape().cluster;
  return shape;
}

}  // namespace weir::embedded::model
