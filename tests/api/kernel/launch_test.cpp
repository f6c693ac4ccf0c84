// SPDX-License-Identifier: Apache-2.0
// launch_test.cpp - kernels in stream order: shapes, streams, refusals.
#include <weir/capture/capture.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/nodes/kernel_node.hpp>
#include <weir/kernel/launch.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/host_function.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "api/kernel/kernel_fixture.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::failure_of;
using test::gate;
using test::result_of;

using Launch = test::Kernels;

TEST_F(Launch, LaunchesRunInStreamOrder) {
  const kernel fill_ints = code->kernel("fill");
  const kernel copy_ints = code->kernel("copy_ints");
  buffer<int> y{s, 1000};
  for (int round = 0; round < 20; ++round) {
    launch(s, {.grid = {4}, .block = {256}}, fill_ints, x, round, 1000);
    launch(s, {.grid = {4}, .block = {256}}, copy_ints, x, y, 1000);
    fill(s, x, -1);
  }
  EXPECT_EQ(values_of(y), std::vector<int>(1000, 19));
}

TEST_F(Launch, ALaunchMayHaveThreeDimensions) {
  const kernel count = code->kernel("count");
  buffer<unsigned> total{s, 1};
  fill(s, total, 0u);
  launch(s, {.grid = {2, 3, 4}, .block = {5, 6, 7}}, count, total);
  std::vector<unsigned> value(1);
  copy(s, total, value);
  s.sync();
  EXPECT_EQ(value[0], 2u * 3 * 4 * 5 * 6 * 7);
}

TEST_F(Launch, AGridOfElementsCoversAllElements) {
  const kernel fill_ints = code->kernel("fill");
  for (const std::size_t n : {1, 2, 127, 128, 129, 1000}) {
    fill(s, x, -1);
    launch(s, grid(n), fill_ints, x, 8, static_cast<int>(n));
    std::vector<int> expected(1000, -1);
    std::fill_n(expected.begin(), n, 8);
    EXPECT_EQ(values_of(x), expected);
    launch(s, grid(n, 32), fill_ints, x, 9, static_cast<int>(n));
    EXPECT_EQ(values_of(x)[n - 1], 9);
  }
}

// The arguments are checked although nothing is launched.
TEST_F(Launch, AGridOfNoElementsLaunchesNothing) {
  const kernel fill_ints = code->kernel("fill");
  fault_table calls;
  launch(s, grid(0), fill_ints, x, 8, 0);
  EXPECT_EQ(calls.count(&driver_table::cuLaunchKernel), 0);
  EXPECT_EQ(result_of([&] { launch(s, grid(0), fill_ints, x, 8); }), errc::invalid_value);
}

// A launch is one driver call for all kinds of arguments.
TEST_F(Launch, ALaunchIsOneDriverCall) {
  const kernel fill_ints = code->kernel("fill");
  launch(s, grid(1000), fill_ints, x, 1, 1000);
  s.sync();
  fault_table calls;
  for (int i = 0; i < 10; ++i) launch(s, grid(1000), fill_ints, out(x), i, 1000);
  EXPECT_EQ(calls.count_all(), 10);
  EXPECT_EQ(calls.count(&driver_table::cuLaunchKernel), 10);
  s.sync();
}

TEST_F(Launch, BuffersRememberALaunchOnAnotherStream) {
  const kernel fill_ints = code->kernel("fill");
  stream other{gpu};
  std::vector<int> values(1000);
  {
    buffer<int> mine{s, 1000};
    other.wait(s);
    gate held{other};
    launch(other, grid(1000), fill_ints, mine, 4, 1000);
    copy(other, mine, x);
    held.open();
  }  // freed on s, after the work of `other` that uses it
  other.sync();
  EXPECT_EQ(values_of(x)[999], 4);
}

// A buffer is found by the address of a part, of a span and of a plain pointer.
TEST_F(Launch, TheFreeWaitsForALaunchThatGotAnAddress) {
  const kernel fill_ints = code->kernel("fill");
  stream other{gpu};
  const auto free_waits = [&](const auto& launch_with) {
    buffer<int> mine{s, 1000};
    other.wait(s);
    gate held{other};
    launch_with(mine);
    mine.close();
    const bool waits = !s.sync_for(std::chrono::milliseconds{5});
    held.open();
    s.sync();
    other.sync();
    return waits;
  };
  EXPECT_TRUE(free_waits(
      [&](buffer<int>& mine) { launch(other, grid(10), fill_ints, mine.first(10), 4, 10); }));
  EXPECT_TRUE(free_waits([&](buffer<int>& mine) {
    launch(other, grid(10), fill_ints, std::span<int>{mine.data(), 10}, 4, 10);
  }));
  EXPECT_TRUE(free_waits(
      [&](buffer<int>& mine) { launch(other, grid(10), fill_ints, mine.data() + 5, 4, 10); }));
  EXPECT_TRUE(free_waits([&](buffer<int>& mine) {
    launch(other, grid(10), fill_ints, out(mine.data() + 5, 10), 4, 10);
  }));
}

TEST_F(Launch, DefaultStreamsAcceptLaunches) {
  const context_scope current{gpu};
  const kernel fill_ints = code->kernel("fill");
  s.sync();
  launch(stream_ref::legacy(), grid(1000), fill_ints, x, 5, 1000);
  stream_ref::legacy().sync();
  EXPECT_EQ(values_of(x)[0], 5);
  launch(stream_ref::per_thread(), grid(1000), fill_ints, x, 6, 1000);
  stream_ref::per_thread().sync();
  EXPECT_EQ(values_of(x)[0], 6);
}

// A new thread has no current context.
TEST_F(Launch, ALaunchNeedsNoCurrentContext) {
  const kernel fill_ints = code->kernel("fill");
  errc on_stream = errc::unknown;
  errc on_default = errc::unknown;
  std::thread{[&] {
    on_stream = result_of([&] { launch(s, grid(1000), fill_ints, x, 7, 1000); });
    s.sync();
    on_default = result_of([&] { launch(stream_ref::legacy(), grid(1), fill_ints, x, 8, 1); });
  }}.join();
  EXPECT_EQ(on_stream, errc::success);
  EXPECT_EQ(on_default, errc::success);
  gpu.sync();
  EXPECT_EQ(values_of(x)[0], 8);
  EXPECT_EQ(values_of(x)[999], 7);
}

TEST_F(Launch, ALaunchMayHaveAPriority) {
  const kernel fill_ints = code->kernel("fill");
  launch(s, {.block = {100}, .priority = gpu.priorities().greatest}, fill_ints, x, 2, 100);
  EXPECT_EQ(values_of(x)[99], 2);
  const int none = gpu.priorities().greatest - 1;
  EXPECT_EQ(result_of([&] { launch(s, {.priority = none}, fill_ints, x, 2, 100); }),
            errc::invalid_value);
}

TEST_F(Launch, ALaunchMayBeCooperative) {
  const kernel fill_ints = code->kernel("fill");
  launch(s, {.grid = {2}, .block = {64}, .cooperative = true}, fill_ints, x, 3, 128);
  EXPECT_EQ(values_of(x)[127], 3);
  const unsigned fit = fill_ints.max_cooperative_blocks(64);
  const auto failure = failure_of([&] {
    launch(s, {.grid = {fit + 1}, .block = {64}, .cooperative = true}, fill_ints, x, 3, 128);
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::cooperative_launch_too_large);
  EXPECT_NE(failure->hint().find("max_cooperative_blocks"), std::string::npos);
}

TEST_F(Launch, ALaunchMayHaveClusters) {
  if (gpu.compute_capability() < compute_capability{9, 0})
    GTEST_SKIP() << "the device has no clusters";
  const kernel fill_ints = code->kernel("fill");
  const launch_config config{.grid = {4}, .block = {64}, .cluster = {2, 1, 1}};
  launch(s, config, fill_ints, x, 4, 256);
  EXPECT_EQ(values_of(x)[255], 4);
  EXPECT_GE(fill_ints.max_cluster_size(config), 2u);
  EXPECT_GE(fill_ints.max_active_clusters(config), 1u);
  EXPECT_TRUE(failure_of([&] {
    launch(s, {.grid = {3}, .block = {64}, .cluster = {2, 1, 1}}, fill_ints, x, 4, 256);
  }));
}

// A cluster with some dimensions 0 is refused before the driver sees it: the driver would break a
// capture.
TEST_F(Launch, AClusterSetsAllDimensionsOrNone) {
  const kernel fill_ints = code->kernel("fill");
  const auto refused = [&](const auto& ask) {
    const auto failure = failure_of(ask);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::invalid_value);
    EXPECT_NE(failure->hint().find("in each direction"), std::string::npos) << failure->what();
  };
  const graph g = capture(s, [&] {
    for (const kernel_extent& cluster :
         {kernel_extent{0, 2, 1}, kernel_extent{2, 0, 1}, kernel_extent{0, 0, 1}}) {
      const launch_config config{.grid = {2, 2}, .block = {64}, .cluster = cluster};
      refused([&] { launch(s, config, fill_ints, x, 4, 128); });
      graph other;
      refused([&] {
        static_cast<void>(other.add(kernel_parameters{config, fill_ints, x, 4, 128}));
      });
      EXPECT_EQ(other.node_count(), 0u);
      refused([&] { static_cast<void>(fill_ints.max_cluster_size(config)); });
      refused([&] { static_cast<void>(fill_ints.max_active_clusters(config)); });
    }
    launch(s, {.grid = {2}, .block = {64}, .cluster = {0, 0, 0}}, fill_ints, x, 7, 128);
  });
  EXPECT_EQ(g.node_count(), 1u);
}

TEST_F(Launch, ALaunchMayBeProgrammatic) {
  const kernel fill_ints = code->kernel("fill");
  launch(s, grid(1000), fill_ints, x, 4, 1000);
  launch(s, {.grid = {8}, .block = {128}, .programmatic = true}, fill_ints, x, 5, 1000);
  s.sync();
  launch(s, grid(1), fill_ints, x, 6, 1);
  EXPECT_EQ(values_of(x)[0], 6);
}

TEST_F(Launch, TheErrorNamesTheReason) {
  const kernel fill_ints = code->kernel("fill");
  const auto advice_of = [&](const launch_config& config) {
    const auto failure = failure_of([&] { launch(s, config, fill_ints, x, 1, 1000); });
    if (!failure) return std::string{"nothing"};
    EXPECT_EQ(failure->result(), errc::invalid_value);
    EXPECT_NE(failure->object().find("\"fill\""), std::string::npos) << failure->object();
    EXPECT_NE(std::string{failure->where().file_name()}.find("launch_test"), std::string::npos);
    return failure->hint();
  };
  EXPECT_NE(advice_of({.grid = {0}}).find("at least 1"), std::string::npos);
  EXPECT_NE(advice_of({.block = {2048}}).find("2048 threads"), std::string::npos);
  EXPECT_NE(advice_of({.shared_bytes = 1 << 20}).find("1048576 bytes"), std::string::npos);
  EXPECT_NE(advice_of({.grid = {1, 1 << 20}}), "nothing");
  s.sync();
}

TEST_F(Launch, ClosedStreamsAndBuffersAreRefused) {
  const kernel fill_ints = code->kernel("fill");
  stream gone{gpu};
  gone.close();
  EXPECT_EQ(result_of([&] { launch(gone, grid(1000), fill_ints, x, 1, 1000); }), errc::closed);
  buffer<int> freed{s, 1000};
  freed.close();
  EXPECT_EQ(result_of([&] { launch(s, grid(1000), fill_ints, freed, 1, 1000); }), errc::closed);
}

TEST_F(Launch, HostFunctionsMayNotLaunch) {
  const kernel fill_ints = code->kernel("fill");
  errc answer = errc::success;
  launch_host(s,
              [&] { answer = result_of([&] { launch(s, grid(1000), fill_ints, x, 1, 1000); }); });
  s.sync();
  EXPECT_EQ(answer, errc::not_permitted);
}

void launch_for(stream_ref s, const kernel& k, buffer<int>& x, call_site at) {
  launch(s, grid(10), {k, at}, x, 1);  // one argument is missing
}

TEST_F(Launch, TheErrorNamesTheCallSiteArgument) {
  const kernel fill_ints = code->kernel("fill");
  const call_site here = call_site::current();
  const auto failure = failure_of([&] { launch_for(s, fill_ints, x, here); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->where().line(), here.line());
}

}  // namespace
}  // namespace weir
