// weir/kernel/launch_config.hpp - how many threads a launch of a kernel has, and how they run.
#pragma once

#include <cstddef>
#include <optional>

namespace weir {

// How many blocks, or threads of a block, in each direction.
struct kernel_extent {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
  friend constexpr bool operator==(const kernel_extent&, const kernel_extent&) noexcept = default;
};

// A launch, but for the kernel and its arguments. The driver checks it against the device and the
// kernel.
//
//   weir::launch(s, {.grid = {64, 64}, .block = {16, 16}}, transpose, x, y, n);
struct launch_config {
  kernel_extent grid = {};   // blocks
  kernel_extent block = {};  // threads of a block
  unsigned shared_bytes =
      0;  // of dynamic shared memory, a block; more than 48 KiB: kernel::set_max_dynamic_shared()

  // Blocks of a cluster, which the grid is a multiple of; 0 in every direction is as the kernel
  // says (__cluster_dims__), or none, and 0 in some of them is refused (invalid_value). Devices of
  // compute capability 9.0 and later.
  kernel_extent cluster{0, 0, 0};
  // All blocks run at the same time, so that the grid can wait for itself
  // (cooperative_groups::grid_group). A grid that does not fit is refused
  // (cooperative_launch_too_large): kernel::max_cooperative_blocks().
  bool cooperative = false;
  // Instead of the stream's. Out of the device's range (device::priorities()) is refused
  // (invalid_value).
  std::optional<int> priority = std::nullopt;
  // May start before the kernel that is ahead in the stream has ended, as soon as all blocks of
  // that have said so (cudaTriggerProgrammaticLaunchCompletion) or ended; waits for the rest itself
  // (cudaGridDependencySynchronize).
  bool programmatic = false;

  // Nothing that cuLaunchKernel has no argument for.
  [[nodiscard]] constexpr bool is_plain() const noexcept {
    return cluster == kernel_extent{0, 0, 0} && !cooperative && !programmatic && !priority;
  }
};

// One thread for each of `size` elements. The last block may have threads beyond the end: the
// kernel compares.
struct element_count {
  std::size_t size = 0;
  unsigned block = 0;         // threads; 0: what gives the kernel the highest occupancy
  unsigned shared_bytes = 0;  // as in launch_config
};

// What launch() takes in place of a launch_config, for kernels with an element a thread: launch(s,
// grid(n), kernel, ...). By default blocks have the size that gives the kernel the highest
// occupancy, asked once a kernel. No elements: nothing is launched. More blocks than a grid can
// have in a row (2^31 - 1): refused (invalid_value).
[[nodiscard]] constexpr element_count grid(std::size_t size, unsigned block = 0,
                                           unsigned shared_bytes = 0) noexcept {
  return {size, block, shared_bytes};
}

}  // namespace weir
