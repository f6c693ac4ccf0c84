// SPDX-License-Identifier: Apache-2.0
// kernel_fixture.hpp - kernels that are written in a test, and launches of them.
#pragma once

#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <vector>

#include "embedded/driver.hpp"
#include "embedded/kernel/blocks/thread_order.hpp"
#include "embedded/kernel/run.hpp"
#include "embedded/kernel/services.hpp"

namespace weir::embedded {

using namespace abi;

// The arguments of a test's kernel body.
struct thread_of {
  const weir_block& block;
  unsigned index;  // linear, in the block
  void* argument;
};

// Makes a kernel that calls Body(thread) for each thread.
template <auto Body>
void run_threads(const weir_block* block, const void* const* arguments, unsigned first,
                 unsigned count) {
  for (unsigned index = first; index < first + count; ++index) {
    Body(thread_of{*block, index, *static_cast<void* const*>(arguments[0])});
  }
}

inline constexpr weir_parameter one_pointer{0, 8, 8};

template <auto Body, unsigned Flags>
inline constexpr weir_kernel kernel_of{
    "of_a_test", run_threads<Body>, &one_pointer, 1, Flags, 1024, 0, {0, 0, 0}, 0, 0, nullptr};

// Makes the kernel without barriers and the kernel with barriers.
template <auto Body>
inline constexpr const weir_kernel& loop = kernel_of<Body, 0>;
template <auto Body>
inline constexpr const weir_kernel& waiting = kernel_of<Body, weir_kernel_waits>;

class kernel_test : public testing::Test {
 protected:
  // Initializes the schedule; no context is needed.
  void SetUp() override { ASSERT_EQ(driver.cuInit(0), CUDA_SUCCESS); }
  void TearDown() override { kernel::configure({}); }

  // Runs a kernel and returns the result of run().
  static CUresult run(const weir_kernel& what, weir_extent grid, weir_extent block,
                      void* argument = nullptr, unsigned shared = 0,
                      weir_extent cluster = {1, 1, 1}, bool cooperative = false) {
    const std::array<const void*, 1> arguments{&argument};
    return kernel::run({&what, grid, block, cluster, shared, cooperative, arguments.data()});
  }
  static CUresult run_cooperative(const weir_kernel& what, weir_extent grid, weir_extent block,
                                  void* argument) {
    return run(what, grid, block, argument, 0, {1, 1, 1}, true);
  }
};

inline const weir_services& service = kernel::services();

// Returns the linear index of a thread in its grid.
inline std::uint64_t place_of(const thread_of& t) {
  const weir_block& b = t.block;
  const std::uint64_t block =
      b.index.x + b.grid.x * (b.index.y + std::uint64_t{b.grid.y} * b.index.z);
  return block * (b.size.x * b.size.y * b.size.z) + t.index;
}

}  // namespace weir::embedded
