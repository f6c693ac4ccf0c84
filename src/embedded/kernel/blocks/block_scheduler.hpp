// SPDX-License-Identifier: Apache-2.0
// kernel/blocks/block_scheduler.hpp - the blocks of a launch, over the workers of the driver.
#pragma once

#include <cstdint>

#include "driver/abi.hpp"
#include "embedded/kernel/blocks/block_runner.hpp"
#include "embedded/kernel/launch.hpp"

namespace weir::embedded::kernel {

// Runs all blocks of a launch on this thread, which is prepared for it, and on those workers that
// have nothing else to do, once it shows that there is enough for them. Whoever takes blocks takes
// the lowest ones that nobody has, so a block may wait for what those before it write.
// CUDA_SUCCESS, or what the launch failed with.
abi::CUresult run_blocks(const launch& what, block_runner& here, std::uint64_t seed) noexcept;

}  // namespace weir::embedded::kernel
