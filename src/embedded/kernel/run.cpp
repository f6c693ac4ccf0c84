// SPDX-License-Identifier: Apache-2.0
// kernel/run.cpp - the way in which a launch is run.
#include "embedded/kernel/run.hpp"

#include <atomic>
#include <cstdio>
#include <new>

#include "embedded/engine/scheduler.hpp"
#include "embedded/kernel/blocks/block_runner.hpp"
#include "embedded/kernel/blocks/block_scheduler.hpp"
#include "embedded/kernel/blocks/cooperative_grid.hpp"

namespace weir::embedded::kernel {

namespace {

// What the orders of threads of a launch follow from: launches that are run one after the other
// have others.
std::uint64_t seed_for_launch() noexcept {
  static std::atomic<std::uint64_t> launches{0};
  return configured_order().random ? launches.fetch_add(1, std::memory_order_relaxed) << 32 : 0;
}

abi::CUresult without_resources(const launch& what) noexcept {
  std::fprintf(stderr, "weir: there is no memory, or there are no threads, to run kernel %s\n",
               what.kernel->name);
  return abi::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
}

}  // namespace

abi::CUresult run(const launch& what) noexcept {
  try {
    const bool parallel = engine::scheduler::instance().kind() == engine::schedule_kind::parallel;
    const bool waits = (what.kernel->flags & weir_kernel_waits) != 0;
    if (waits && (what.cooperative || what.cluster_blocks() > 1)) {
      const abi::CUresult status = cooperative_grid{what, !parallel}.run(seed_for_launch());
      return status == abi::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES ? without_resources(what) : status;
    }
    block_runner& here = block_runner::of_this_thread();
    here.prepare(what);
    const std::uint64_t blocks = what.blocks();
    if (blocks == 1 || !parallel) return here.run(what, 0, blocks, seed_for_launch());
    return run_blocks(what, here, seed_for_launch());
  } catch (const std::bad_alloc&) {
    return without_resources(what);
  }
}

}  // namespace weir::embedded::kernel
