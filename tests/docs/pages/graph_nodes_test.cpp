// SPDX-License-Identifier: Apache-2.0
// graph_nodes_test.cpp - the code that docs/guide/graph-nodes.md shows.
#include <gtest/gtest.h>

#include <utility>
#include <weir/weir.hpp>

namespace {

class GraphNodesPage : public ::testing::Test {
 protected:
  [[nodiscard]] float result() {
    weir::copy(s, x, home);
    s.sync();
    return home[0];
  }

  weir::device gpu;
  weir::stream s{gpu};
  weir::buffer<float> x{s, 100};
  weir::buffer<float> y{s, 100};
  weir::pinned_buffer<float> home{100};
};

TEST_F(GraphNodesPage, AGraphIsBuiltAndChanged) {
  int rounds = 0;
  // [graph-nodes-build]
  weir::graph g;
  const weir::fill_node a = g.add(weir::fill_parameters{x, 1.0f});
  const weir::fill_node b = g.add(weir::fill_parameters{y, 2.0f});
  const weir::copy_node c = g.add(weir::copy_parameters{x, home}, {a, b});  // after both
  g.add(weir::host_function_parameters{[&] { ++rounds; }}, {c});
  // [/graph-nodes-build]
  // [graph-nodes-set]
  weir::graph_exec run = g.instantiate();
  for (float value = 0; value < 3; ++value) {
    run.set(a, weir::fill_parameters{x, value});  // queued launches do not change
    run.launch(s);
  }
  run.disable(b);  // keeps its place in the order, but does nothing
  // [/graph-nodes-set]
  s.sync();
  EXPECT_EQ(rounds, 3);
  EXPECT_EQ(home[0], 2.0f);
  std::size_t elements = 0;
  std::size_t bytes = 0;
  // [graph-nodes-visit]
  for (const weir::graph_node node : g.nodes()) {
    weir::visit(
        node, [&](weir::fill_node n) { elements += n.parameters().width(); },
        [&](weir::copy_node n) { bytes += n.parameters().width_bytes(); },  //
        [](weir::graph_node) {});                                           // all others
  }
  const auto first = g.nodes().front().as<weir::fill_node>();  // throws wrong_type for another kind
  // [/graph-nodes-visit]
  EXPECT_EQ(elements, 200u);
  EXPECT_EQ(bytes, 400u);
  EXPECT_EQ(first.parameters().height(), 1u);
}

TEST_F(GraphNodesPage, ANodeKeepsItsMemory) {
  weir::graph g;
  weir::pinned_buffer<float> table{100};
  table[0] = 4.0f;
  // [graph-nodes-keep]
  g.add(weir::copy_parameters{std::move(table),
                              x});  // a pinned_buffer, kept until the last launch is done
  // [/graph-nodes-keep]
  g.instantiate().launch(s);
  EXPECT_EQ(result(), 4.0f);
}

TEST_F(GraphNodesPage, ATagFindsANodeInAClone) {
  weir::graph g;
  const weir::fill_node a = g.add(weir::fill_parameters{x, 1.0f});
  // [graph-nodes-tags]
  g.tag(a, "clear x");
  const weir::graph copied = g.clone();
  weir::graph_exec run = copied.instantiate();
  run.set(run.find("clear x").as<weir::fill_node>(), weir::fill_parameters{x, 5.0f});
  // [/graph-nodes-tags]
  run.launch(s);
  EXPECT_EQ(result(), 5.0f);
}

TEST_F(GraphNodesPage, AConditionChoosesABody) {
  if (!weir::conditional_support_of_driver().else_and_switch)
    GTEST_SKIP() << "a driver of before CUDA 12.8";
  weir::graph g;
  // [graph-nodes-conditions]
  const weir::condition c{g, 1};  // 1 at the start of each launch
  const weir::conditional_node choice = g.add(weir::if_else_parameters{c});
  choice.body(0).add(weir::fill_parameters{x, 1.0f});
  choice.body(1).add(weir::fill_parameters{x, 2.0f});
  // [/graph-nodes-conditions]
  g.instantiate().launch(s);
  EXPECT_EQ(result(), 1.0f);
}

}  // namespace
