// SPDX-License-Identifier: Apache-2.0
// conditions_test.cpp - kernels that set the conditions of their graphs.
#include <weir/capture/capture_to.hpp>
#include <weir/graph/graph_nodes.hpp>
#include <weir/graph/nodes/conditional_node.hpp>
#include <weir/graph/nodes/kernel_node.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <cmath>
#include <cstdint>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

class Conditions : public kernel_fixture {
 protected:
  void SetUp() override {
    support = conditional_support_of_driver();
    if (!support.if_and_while) GTEST_SKIP() << "the driver has no conditional nodes";
  }
  void launch_and_wait(const graph_exec& what) const {
    what.launch(s);
    s.sync();
  }

  conditional_support support;
  const module& code = kernel_module("conditions");
  const kernel add_to = code.kernel("add_to");
  const kernel set_to = code.kernel("set_to");
  const launch_config one{};
};

// Each launch loops until the kernel reports convergence.
TEST_F(Conditions, ALoopEndsWhenItsKernelClearsTheCondition) {
  pinned_buffer<double> x{1};
  graph g;
  const condition again{g, 1};
  const conditional_node loop = g.add(while_parameters{again});
  const double a = 2;
  loop.body().add(kernel_parameters{one, code.kernel("step"), again.handle(), x, a});
  const graph_exec run = g.instantiate();
  for (const double start : {1.0, 100.0}) {
    x[0] = start;
    launch_and_wait(run);
    EXPECT_NEAR(x[0], std::sqrt(2.0), 1e-12);
  }
}

// Threads of several blocks set it, and the executable outlives the graph.
TEST_F(Conditions, AnyThreadMaySetACondition) {
  pinned_buffer<std::uint32_t> words{2};
  words[0] = words[1] = 0;
  const graph_exec run = [&] {
    graph g;
    const condition again{g, 1};
    const conditional_node loop = g.add(while_parameters{again});
    loop.body().add(kernel_parameters{{.grid = {4}, .block = {64}},
                                      code.kernel("add_and_ask"),
                                      again.handle(),
                                      words.data(),
                                      words.data() + 1,
                                      1000u});
    return g.instantiate();
  }();
  launch_and_wait(run);
  EXPECT_EQ(words[0], 1024u);
}

// A kernel before the node selects the body; its value applies in that launch.
TEST_F(Conditions, AKernelChoosesTheBody) {
  if (!support.else_and_switch) GTEST_SKIP() << "the driver has no switch nodes";
  pinned_buffer<std::uint32_t> choice{1};
  pinned_buffer<std::uint32_t> sums{5};
  graph g;
  const condition which{g, 7};
  const condition whether{g, 0};
  const kernel_node first = g.add(kernel_parameters{one, set_to, which.handle(), choice});
  const kernel_node second =
      g.add(kernel_parameters{one, set_to, whether.handle(), choice}, {first});
  const conditional_node cases = g.add(switch_parameters{which, 3}, {second});
  for (unsigned i = 0; i < 3; ++i) {
    cases.body(i).add(kernel_parameters{one, add_to, sums.data() + i, 1u});
  }
  const conditional_node branch = g.add(if_else_parameters{whether}, {cases});
  branch.body(0).add(kernel_parameters{one, add_to, sums.data() + 3, 1u});
  branch.body(1).add(kernel_parameters{one, add_to, sums.data() + 4, 1u});
  const graph_exec run = g.instantiate();
  std::ranges::fill(sums, 0u);
  for (const std::uint32_t each : {2u, 0u, 1u, 2u, 3u}) {
    choice[0] = each;
    launch_and_wait(run);
  }
  EXPECT_EQ(std::vector(sums.begin(), sums.end()), (std::vector<std::uint32_t>{1, 1, 2, 4, 1}));
}

// Nested loops: each iteration of the outer loop sets the inner condition again.
TEST_F(Conditions, LoopsNest) {
  pinned_buffer<std::uint32_t> words{4};
  const std::uint32_t per_round = 3;
  std::ranges::fill(words, 0u);
  words[3] = 1;
  graph g;
  const condition outer{g, 1};
  const condition inner{g, 0};
  const conditional_node loop = g.add(while_parameters{outer});
  const graph_ref body = loop.body();
  // words[0] counts the inner iterations, words[1] the outer ones, words[2] is scratch, words[3]
  // stays 1.
  const kernel_node begin =
      body.add(kernel_parameters{one, set_to, inner.handle(), words.data() + 3});
  const fill_node clear = body.add(fill_parameters{std::span{words.data() + 2, 1}, 0u}, {begin});
  const conditional_node inside = body.add(while_parameters{inner}, {clear});
  const kernel_node round = inside.body().add(kernel_parameters{one, add_to, words.data(), 1u});
  inside.body().add(
      kernel_parameters{one, code.kernel("count"), inner.handle(), words.data() + 2, per_round},
      {round});
  body.add(kernel_parameters{one, code.kernel("count"), outer.handle(), words.data() + 1, 4u},
           {inside});
  launch_and_wait(g.instantiate());
  EXPECT_EQ(words[0], 4 * per_round);
  EXPECT_EQ(words[1], 4u);
}

// A condition without a default value at launch keeps the value that a kernel set.
TEST_F(Conditions, AConditionKeepsItsValue) {
  pinned_buffer<std::uint32_t> words{2};
  words[0] = words[1] = 0;
  graph g;
  const condition kept{g, std::nullopt};
  const conditional_node node = g.add(if_parameters{kept});
  node.body().add(kernel_parameters{one, add_to, words.data(), 1u});
  g.add(kernel_parameters{one, set_to, kept.handle(), words.data() + 1}, {node});
  const graph_exec run = g.instantiate();
  launch_and_wait(run);  // the first launch starts from an arbitrary value, and leaves 0
  words[0] = 0;
  words[1] = 1;
  launch_and_wait(run);
  EXPECT_EQ(words[0], 0u);
  words[1] = 0;
  launch_and_wait(run);
  EXPECT_EQ(words[0], 1u);
  launch_and_wait(run);
  EXPECT_EQ(words[0], 1u);
}

// Launches captured into a body set conditions, too.
TEST_F(Conditions, ABodyIsCaptured) {
  pinned_buffer<std::uint32_t> words{2};
  words[0] = words[1] = 0;
  graph g;
  const condition again{g, 1};
  const conditional_node loop = g.add(while_parameters{again});
  capture_to(s, loop.body(), [&] {
    launch(s, one, add_to, words.data(), 10u);
    launch(s, one, code.kernel("count"), again.handle(), words.data() + 1, 5u);
  });
  launch_and_wait(g.instantiate());
  EXPECT_EQ(words[0], 50u);
}

}  // namespace
}  // namespace weir::test
