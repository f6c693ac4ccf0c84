// SPDX-License-Identifier: Apache-2.0
// launch_capture_test.cpp - launches in captures and as nodes: what the graph keeps, and which
// checks apply.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/nodes/kernel_node.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "api/kernel/kernel_fixture.hpp"
#include "support/fault_table.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::failure_of;
using test::result_of;

class LaunchCapture : public test::Kernels {
 protected:
  void expect_filled(int value) { EXPECT_EQ(values_of(x), std::vector<int>(1000, value)); }
};

TEST_F(LaunchCapture, ACapturedLaunchBecomesANode) {
  const kernel fill_ints = code->kernel("fill");
  fill(s, x, -1);
  graph g = capture(s, [&] {
    launch(s, grid(1000), fill_ints, out(x), 3, 1000);
    launch(s, {.block = {1}, .priority = gpu.priorities().greatest}, code->kernel("store"), x, 3);
  });
  ASSERT_EQ(g.node_count(), 2u);
  expect_filled(-1);
  EXPECT_EQ(g.nodes()[0].kind(), node_kind::kernel);
  EXPECT_EQ(g.nodes()[1].as<kernel_node>().priority(), gpu.priorities().greatest);
  graph_exec exec = g.instantiate();
  exec.launch(s);
  expect_filled(3);
}

// The module is unloaded with the last graph or executable that uses it.
TEST_F(LaunchCapture, ACapturedLaunchKeepsItsModule) {
  drain_deferred();
  fault_table calls;
  std::optional<graph> g =
      capture(s, [&] { launch(s, grid(1000), code->kernel("fill"), x, 4, 1000); });
  code.reset();
  drain_deferred();
  std::optional<graph_exec> exec = g->instantiate();
  g.reset();
  exec->launch(s);
  expect_filled(4);
  EXPECT_EQ(calls.count(&driver_table::cuModuleUnload), 0);
  exec->launch(s);
  s.sync();
  exec.reset();
}

TEST_F(LaunchCapture, ACapturedLaunchKeepsItsMovedAndSharedArguments) {
  std::weak_ptr<buffer<int>> watched;
  std::optional<graph> g;
  {
    auto shared = std::make_shared<buffer<int>>(s, 1000);
    buffer<int> given{s, 1000};
    watched = shared;
    g = capture(s, [&] {
      launch(s, grid(1000), code->kernel("fill"), shared, 5, 1000);
      launch(s, grid(1000), code->kernel("copy_ints"), shared, out(std::move(given)), 1000);
      launch(s, grid(1000), code->kernel("copy_ints"), in(shared), x, 1000);
    });
    EXPECT_TRUE(given.closed());
  }
  EXPECT_FALSE(watched.expired());
  graph_exec exec = g->instantiate();
  g.reset();
  exec.launch(s);
  expect_filled(5);
  EXPECT_FALSE(watched.expired());
}

// weir tracks the uses until the graph keeps the arguments, and not afterwards.
TEST_F(LaunchCapture, ACaptureOfAPerThreadStreamKeepsItsArguments) {
  const context_scope current{gpu};
  const stream_ref mine = stream_ref::per_thread();
  const graph g = capture(mine, [&] {
    launch(mine, grid(1000), code->kernel("fill"), pinned_buffer<int>{1000}, 5, 1000);
    launch(mine, grid(1000), code->kernel("fill"), x, 5, 1000);
  });
  graph_exec exec = g.instantiate();
  for (int i = 0; i < 2; ++i) exec.launch(s);
  expect_filled(5);
}

TEST_F(LaunchCapture, ARefusedLaunchLeavesTheCaptureValid) {
  const kernel fill_ints = code->kernel("fill");
  const graph g = capture(s, [&] {
    EXPECT_EQ(result_of([&] { launch(s, grid(1000), fill_ints, x, 1); }), errc::invalid_value);
    for (const launch_config& wrong :
         {launch_config{.grid = {0}}, launch_config{.grid = {1, 1 << 16}},
          launch_config{.block = {32, 64}}, launch_config{.shared_bytes = 1 << 30}}) {
      EXPECT_EQ(result_of([&] { launch(s, wrong, fill_ints, x, 1, 1000); }), errc::invalid_value);
    }
    launch(s, grid(1000), fill_ints, x, 6, 1000);
  });
  EXPECT_EQ(g.node_count(), 1u);
}

TEST_F(LaunchCapture, KernelNodesTakeTheArgumentsOfLaunches) {
  const kernel fill_ints = code->kernel("fill");
  graph g;
  const auto parameters = [&](int value) {
    return kernel_parameters{grid(1000), fill_ints, out(x), value, 1000};
  };
  const kernel_node node = g.add(parameters(7));
  EXPECT_EQ(node.parameters().function(), fill_ints.get());
  EXPECT_EQ(node.parameters().block(), fill_ints.config_for(grid(1000)).block);
  graph_exec exec = g.instantiate();
  exec.launch(s);
  expect_filled(7);
  exec.set(node, parameters(8));
  exec.launch(s);
  expect_filled(8);
  const kernel_parameters named = parameters(9);  // the node keeps its own arguments
  node.set(named);
  g.instantiate().launch(s);
  expect_filled(9);
  EXPECT_EQ(named.config().block, named.block());
}

TEST_F(LaunchCapture, TheArgumentsOfKernelNodesAreChecked) {
  const kernel fill_ints = code->kernel("fill");
  graph g;
  EXPECT_EQ(result_of([&] {
              static_cast<void>(g.add(kernel_parameters{grid(1000), fill_ints, x, 7}));
            }),
            errc::invalid_value);
  EXPECT_EQ(result_of([&] {
              static_cast<void>(g.add(kernel_parameters{grid(1000), fill_ints, x, 7, 1000LL}));
            }),
            errc::invalid_value);
  buffer<int> closed{s, 10};
  closed.close();
  EXPECT_EQ(result_of([&] {
              static_cast<void>(g.add(kernel_parameters{grid(10), fill_ints, closed, 7, 10}));
            }),
            errc::closed);
  const kernel_parameters programmatic{{.programmatic = true}, fill_ints, x, 7, 10};
  EXPECT_EQ(result_of([&] { static_cast<void>(g.add(programmatic)); }), errc::not_supported);
  EXPECT_EQ(g.node_count(), 0u);
  const kernel_node node = g.add(kernel_parameters{{}, fill_ints, x, 7, 10});
  EXPECT_EQ(result_of([&] { node.set(programmatic); }), errc::not_supported);
  graph_exec exec = g.instantiate();
  EXPECT_EQ(result_of([&] { exec.set(node, programmatic); }), errc::not_supported);
}

TEST_F(LaunchCapture, KernelNodesKeepTheirModuleAndArguments) {
  auto shared = std::make_shared<buffer<int>>(s, 1000);
  const std::weak_ptr<buffer<int>> watched = shared;
  graph g;
  const kernel_node first =
      g.add(kernel_parameters{grid(1000), code->kernel("fill"), std::move(shared), 11, 1000});
  shared.reset();
  g.add(kernel_parameters{grid(1000), code->kernel("copy_ints"), in(watched.lock()), x, 1000},
        {first});
  code.reset();
  drain_deferred();
  graph_exec exec = g.instantiate();
  exec.launch(s);
  expect_filled(11);
  EXPECT_FALSE(watched.expired());
}

// The parameters keep the arguments, whatever else of the node is changed.
TEST_F(LaunchCapture, ChangedAttributesDoNotReleaseTheArgumentsOfANode) {
  const auto mine = [&] {
    return kernel_parameters{grid(10), code->kernel("fill"), buffer<int>{s, 10}, 1, 10};
  };
  graph g;
  const kernel_node node = g.add(mine());
  const kernel_node other = g.add(mine());
  const fault_table calls;
  node.set_priority(gpu.priorities().greatest);
  node.copy_attributes(other);
  EXPECT_EQ(calls.count(&driver_table::cuGraphReleaseUserObject), 0);
  node.set(mine());
  EXPECT_GT(calls.count(&driver_table::cuGraphReleaseUserObject), 0);
}

}  // namespace
}  // namespace weir
