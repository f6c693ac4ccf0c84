// SPDX-License-Identifier: Apache-2.0
// kernel/launch.hpp - what is run: a kernel, over how many threads, with which arguments.
#pragma once

#include <cstdint>

#include "driver/abi/module_abi.h"

namespace weir::embedded::kernel {

struct launch {
  const weir_kernel* kernel = nullptr;
  weir_extent grid{1, 1, 1};
  weir_extent block{1, 1, 1};
  weir_extent cluster{1, 1, 1};            // divides the grid
  unsigned shared = 0;                     // bytes of dynamic shared memory
  bool cooperative = false;                // all blocks run at the same time
  const void* const* arguments = nullptr;  // one pointer a parameter

  [[nodiscard]] std::uint64_t blocks() const noexcept {
    return std::uint64_t{grid.x} * grid.y * grid.z;
  }
  [[nodiscard]] unsigned threads() const noexcept { return block.x * block.y * block.z; }
  [[nodiscard]] unsigned cluster_blocks() const noexcept {
    return cluster.x * cluster.y * cluster.z;
  }
};

}  // namespace weir::embedded::kernel
