// SPDX-License-Identifier: Apache-2.0
// kernel/run.hpp - running a launch.
#pragma once

#include "driver/abi.hpp"
#include "embedded/kernel/launch.hpp"

namespace weir::embedded::kernel {

// Runs all blocks of a launch and returns when they have ended: on this thread, and on workers that
// have nothing else to do where the schedule is parallel. CUDA_SUCCESS, or what the kernel failed
// with; the caller lets the device fail with it.
//
// Thread safety: any thread; not from within a kernel.
abi::CUresult run(const launch& what) noexcept;

}  // namespace weir::embedded::kernel
