// SPDX-License-Identifier: Apache-2.0
// weir/kernel/launch_config.hpp - the number of threads of a kernel launch, and how they run.
#pragma once

#include <cstddef>
#include <optional>

namespace weir {

/// A number of blocks, or of threads in a block, in each direction.
struct kernel_extent {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
  friend constexpr bool operator==(const kernel_extent&, const kernel_extent&) noexcept = default;
};

/// The configuration of a launch. The driver checks it against the device and the kernel.
///
///   weir::launch(s, {.grid = {64, 64}, .block = {16, 16}}, transpose, x, y, n);
struct launch_config {
  kernel_extent grid = {};   ///< blocks
  kernel_extent block = {};  ///< threads per block
  /// Dynamic shared memory per block, in bytes. More than 48 KiB needs
  /// kernel::set_max_dynamic_shared().
  unsigned shared_bytes = 0;

  /// Blocks per cluster; the grid must be a multiple of this in each direction. 0 in all directions
  /// means the kernel's own setting (__cluster_dims__), or no clusters if it has none. 0 in only
  /// some directions throws `invalid_value`. Needs compute capability 9.0.
  kernel_extent cluster{0, 0, 0};
  /// Runs all blocks concurrently, so that the grid can synchronise
  /// (cooperative_groups::grid_group). A grid with more blocks than the device can run concurrently
  /// throws `cooperative_launch_too_large`; see kernel::max_cooperative_blocks().
  bool cooperative = false;
  /// The priority of the launch instead of the stream's. A value outside the device's range
  /// (device::priorities()) throws `invalid_value`.
  std::optional<int> priority = std::nullopt;
  /// Allows the launch to start before the previous kernel of the stream has ended: as soon as all
  /// blocks of the previous kernel have called cudaTriggerProgrammaticLaunchCompletion or ended.
  /// The launched kernel has to call cudaGridDependencySynchronize before it uses results of the
  /// previous kernel.
  bool programmatic = false;

  /// Returns true if cuLaunchKernel can make the launch, since no option needs cuLaunchKernelEx.
  [[nodiscard]] constexpr bool is_plain() const noexcept {
    return cluster == kernel_extent{0, 0, 0} && !cooperative && !programmatic && !priority;
  }
};

/// A launch with one thread for each of `size` elements, as returned by grid(). The last block may
/// have threads beyond the end, so the kernel must compare its index with the size.
struct element_count {
  std::size_t size = 0;
  unsigned block = 0;         ///< threads; 0: the block size with the highest occupancy
  unsigned shared_bytes = 0;  ///< dynamic shared memory per block
};

/// Describes a launch with one thread per element: launch(s, grid(n), kernel, ...).
///
/// `block` is the number of threads per block. By default it is the size with the highest
/// occupancy, queried once per kernel. With `size` 0 nothing is launched. launch() throws
/// `invalid_value` if more blocks are needed than a grid can have (2^31 - 1).
[[nodiscard]] constexpr element_count grid(std::size_t size, unsigned block = 0,
                                           unsigned shared_bytes = 0) noexcept {
  return {size, block, shared_bytes};
}

}  // namespace weir
