// SPDX-License-Identifier: Apache-2.0
// kernel_test.cpp - attributes of kernels that can be read and set.
#include <weir/kernel/kernel.hpp>
#include <weir/stream/host_function.hpp>

#include <gtest/gtest.h>

#include "api/kernel/kernel_fixture.hpp"
#include "driver/table.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::result_of;

using Kernel = test::Kernels;

TEST_F(Kernel, AKernelReturnsItsNameDeviceParametersAndAttributes) {
  const kernel fill = code->kernel("fill");
  EXPECT_EQ(fill.name(), "fill");
  EXPECT_EQ(fill.device(), gpu);
  EXPECT_EQ(fill.parameters(), (std::vector<kernel_parameter>{{0, 8}, {8, 4}, {12, 4}}));
  const kernel_attributes has = fill.attributes();
  EXPECT_GE(has.max_threads_per_block, 128);
  EXPECT_LE(has.max_threads_per_block, 1024);
  EXPECT_GE(has.registers, 0);
  EXPECT_EQ(has.shared_bytes, 0);
  EXPECT_EQ(has.cluster, (kernel_extent{0, 0, 0}));
  EXPECT_FALSE(has.cluster_size_must_be_set);
  EXPECT_GT(has.binary_version, 0);
}

TEST_F(Kernel, ParametersAreAlignedByTheirTypes) {
  const std::vector<kernel_parameter> has = code->kernel("take_all").parameters();
  ASSERT_EQ(has.size(), 10u);
  EXPECT_EQ(has[0], (kernel_parameter{0, 1}));
  EXPECT_EQ(has[1], (kernel_parameter{2, 2}));
  EXPECT_EQ(has[3], (kernel_parameter{8, 8}));
  EXPECT_EQ(has[6].size, 1u);
  EXPECT_EQ(has[7].size, sizeof(test::mixed));
  EXPECT_EQ(has[9].size, sizeof(void*));
}

TEST_F(Kernel, AKernelIsMadeFromAHandle) {
  const kernel fill = code->kernel("fill");
  const kernel borrowed = kernel::from_function(fill.get());
  EXPECT_EQ(borrowed, fill);
  EXPECT_EQ(borrowed.parameters(), fill.parameters());
  launch(s, grid(x.size()), borrowed, x, 3, 1000);
  EXPECT_EQ(values_of(x)[999], 3);
  EXPECT_EQ(
      result_of([] { static_cast<void>(kernel::from_function(static_cast<CUfunc_st*>(nullptr))); }),
      errc::invalid_handle);
}

void no_kernel(int) {}

// This program is not linked with the CUDA runtime.
TEST_F(Kernel, ANvccKernelNeedsTheCudaRuntime) {
  const auto failure = failure_of([] { static_cast<void>(kernel::from_function(no_kernel)); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::not_supported);
  EXPECT_NE(failure->hint().find("nvcc"), std::string::npos) << failure->what();
}

TEST_F(Kernel, AnEmptyKernelThrowsClosed) {
  kernel none;
  EXPECT_FALSE(none);
  EXPECT_EQ(result_of([&] { static_cast<void>(none.name()); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(none.attributes()); }), errc::closed);
  EXPECT_EQ(result_of([&] { launch(s, {}, none); }), errc::closed);
  EXPECT_EQ(result_of([&] { launch(s, grid(10), none); }), errc::closed);
  none = code->kernel("nothing");
  EXPECT_TRUE(none);
  const kernel moved = std::move(none);
  EXPECT_FALSE(none);
  launch(s, {}, moved);
  s.sync();
}

TEST_F(Kernel, AKernelReturnsItsOccupancy) {
  const kernel fill = code->kernel("fill");
  const unsigned active = fill.max_active_blocks(256);
  EXPECT_GE(active, 1u);
  EXPECT_LE(fill.max_active_blocks(1024), active);
  EXPECT_EQ(fill.max_cooperative_blocks(256),
            active * static_cast<unsigned>(gpu.attribute(device_attribute::multiprocessor_count)));
  const block_suggestion best = fill.suggest_block();
  EXPECT_GE(best.threads, 32u);
  EXPECT_LE(best.threads, 1024u);
  EXPECT_GE(best.blocks, 1u);
  EXPECT_LE(fill.suggest_block(0, 128).threads, 128u);
  EXPECT_GT(fill.available_dynamic_shared(1, 256), 1000u);
  EXPECT_GE(fill.available_dynamic_shared(1, 256), fill.available_dynamic_shared(2, 256));
}

TEST_F(Kernel, AKernelHasALaunchConfigForElements) {
  const kernel fill = code->kernel("fill");
  const launch_config given = fill.config_for(grid(1000, 128));
  EXPECT_EQ(given.grid, (kernel_extent{8}));
  EXPECT_EQ(given.block, (kernel_extent{128}));
  const launch_config best = fill.config_for(grid(1000));
  EXPECT_EQ(best.block, (kernel_extent{fill.suggest_block().threads}));
  EXPECT_EQ(best.grid.x, (1000 + best.block.x - 1) / best.block.x);
  EXPECT_EQ(fill.config_for(grid(1024, 128)).grid, (kernel_extent{8}));
  EXPECT_EQ(fill.config_for(grid(1025, 128, 64)).shared_bytes, 64u);
  const auto failure =
      failure_of([&] { static_cast<void>(fill.config_for(grid(std::size_t{1} << 40, 32))); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_value);
  EXPECT_NE(failure->hint().find("2147483647"), std::string::npos) << failure->hint();
}

TEST_F(Kernel, AKernelMayRaiseItsSharedMemoryLimit) {
  const kernel reverse = code->kernel("reverse");
  constexpr unsigned much = 64 * 1024;
  const auto failure =
      failure_of([&] { launch(s, {.block = {100}, .shared_bytes = much}, reverse, x); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_value);
  EXPECT_NE(failure->hint().find("set_max_dynamic_shared"), std::string::npos) << failure->what();
  reverse.set_max_dynamic_shared(much);
  EXPECT_EQ(reverse.attributes().max_dynamic_shared_bytes, static_cast<int>(much));
  EXPECT_EQ(code->kernel("reverse").attributes().max_dynamic_shared_bytes, static_cast<int>(much));
  std::vector<int> values(1000);
  for (int i = 0; i < 1000; ++i) values[static_cast<std::size_t>(i)] = i;
  copy(s, values, x);
  launch(s, {.block = {100}, .shared_bytes = much}, reverse, x);
  EXPECT_EQ(values_of(x)[0], 99);
  EXPECT_EQ(values_of(x)[99], 0);
  EXPECT_EQ(result_of([&] { reverse.set_max_dynamic_shared(100u << 20); }), errc::invalid_value);
}

TEST_F(Kernel, AKernelTakesCacheAndCarveoutHints) {
  const kernel fill = code->kernel("fill");
  fill.set_shared_carveout(50);
  EXPECT_EQ(fill.attributes().shared_carveout, 50);
  fill.set_shared_carveout(-1);
  EXPECT_EQ(result_of([&] { fill.set_shared_carveout(101); }), errc::invalid_value);
  fill.set_cache(cache_preference::l1);
  fill.allow_non_portable_clusters(true);
  EXPECT_TRUE(fill.attributes().non_portable_cluster_allowed);
}

}  // namespace
}  // namespace weir
