// SPDX-License-Identifier: Apache-2.0
// conditional_node_test.cpp - nodes that run bodies depending on a condition.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/core/to_string.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/graph_nodes.hpp>
#include <weir/graph/nodes/child_graph_node.hpp>
#include <weir/graph/nodes/conditional_node.hpp>
#include <weir/graph/nodes/copy_node.hpp>
#include <weir/graph/nodes/empty_node.hpp>
#include <weir/graph/nodes/event_nodes.hpp>
#include <weir/graph/nodes/fill_node.hpp>
#include <weir/graph/nodes/host_function_node.hpp>
#include <weir/graph/nodes/memory_nodes.hpp>
#include <weir/graph/nodes/value_batch_node.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "support/errors.hpp"

namespace weir {
namespace {

using detail::driver;
using test::failure_of;
using test::result_of;

class ConditionalNode : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!conditional_support_of_driver().else_and_switch)
      GTEST_SKIP() << "the driver is older than CUDA 12.8";
    const context_scope current{gpu};
  }
  // Fills the bodies so that body i sets cell i to 1, of ten cells.
  void set_cells(conditional_node node) {
    std::size_t i = 0;
    for (const graph_ref body : node.bodies()) {
      static_cast<void>(body.add(fill_parameters{std::span<int>{x.data() + i, 1}, 1}));
      ++i;
    }
  }
  [[nodiscard]] std::string run_bodies(const graph_exec& exec) {
    fill(s, x, 0);
    exec.launch(s);
    copy(s, x, host);
    s.sync();
    std::string text;
    for (const int i : host) text += i == 0 ? '0' : '1';
    return text;
  }
  [[nodiscard]] static bool hint_contains(const std::optional<error>& failure,
                                          const std::string& what) {
    return failure && failure->hint().find(what) != std::string::npos;
  }

  device gpu;
  stream s{gpu};
  buffer<int> x{s, 4};
  pinned_buffer<int> host{4};
  graph g;
};

TEST_F(ConditionalNode, IfRunsItsBodyUnlessTheValueIsZero) {
  for (const unsigned value : {0u, 1u, 5u}) {
    graph mine;
    const condition c{mine, value};
    EXPECT_NE(c.handle(), 0u);
    EXPECT_EQ(c.graph(), mine.ref());
    const conditional_node node = mine.add(if_parameters{c});
    EXPECT_EQ(graph_node{node}.kind(), node_kind::conditional);
    EXPECT_EQ(node.type(), conditional_kind::if_nonzero);
    EXPECT_EQ(node.bodies().size(), 1u);
    set_cells(node);
    EXPECT_EQ(run_bodies(mine.instantiate()), value == 0 ? "0000" : "1000");
  }
}

// Rule 132: exactly one of the two bodies runs.
TEST_F(ConditionalNode, IfElseRunsOneOfTwoBodies) {
  for (const unsigned value : {0u, 1u}) {
    graph mine;
    const conditional_node node = mine.add(if_else_parameters{condition{mine, value}});
    set_cells(node);
    const graph_exec exec = mine.instantiate();
    EXPECT_EQ(run_bodies(exec), value == 0 ? "0100" : "1000");
    EXPECT_EQ(run_bodies(exec), value == 0 ? "0100" : "1000");
  }
}

// Rule 133: a value without a body runs nothing.
TEST_F(ConditionalNode, SwitchRunsTheBodyOfItsValueOrNone) {
  const char* const expected[] = {"1000", "0100", "0010", "0000"};
  for (unsigned value = 0; value < 4; ++value) {
    graph mine;
    const conditional_node node = mine.add(switch_parameters{condition{mine, value}, 3});
    EXPECT_EQ(node.type(), conditional_kind::switch_number);
    set_cells(node);
    EXPECT_EQ(run_bodies(mine.instantiate()), expected[value]);
  }
}

TEST_F(ConditionalNode, WhileTestsItsConditionBeforeTheFirstPass) {
  const conditional_node node = g.add(while_parameters{condition{g}});
  EXPECT_EQ(node.type(), conditional_kind::while_nonzero);
  set_cells(node);
  EXPECT_EQ(run_bodies(g.instantiate()), "0000");
}

TEST_F(ConditionalNode, AConditionalNodeRunsBetweenItsDependenciesAndItsDependents) {
  const fill_node before = g.add(fill_parameters{x, 3});
  const conditional_node node = g.add(if_parameters{condition{g, 1}}, {before});
  set_cells(node);
  static_cast<void>(g.add(copy_parameters{x, host}, {node}));
  g.instantiate().launch(s);
  s.sync();
  EXPECT_EQ(host[0], 1);
  EXPECT_EQ(host[1], 3);
}

TEST_F(ConditionalNode, ConditionalNodesNest) {
  const conditional_node outer = g.add(if_parameters{condition{g, 1}});
  const graph_ref body = outer.body();
  const conditional_node inner = body.add(switch_parameters{condition{body, 2}, 3});
  set_cells(inner);
  EXPECT_EQ(run_bodies(g.instantiate()), "0010");
}

TEST_F(ConditionalNode, AnUnknownBodyIndexIsRefused) {
  const conditional_node node = g.add(if_parameters{condition{g}});
  const auto failure = failure_of([&] { static_cast<void>(node.body(1)); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_value);
  EXPECT_TRUE(hint_contains(failure, "1 bodies"));
  EXPECT_EQ(g.nodes().at(0).as<conditional_node>().body(), node.body())
      << "a node from a list has its bodies";
}

// Rule 128: the node is refused when it is added, and the error names it.
TEST_F(ConditionalNode, ANodeThatABodyCannotHoldIsRefusedWhenItIsAdded) {
  const conditional_node node = g.add(if_parameters{condition{g, 1}});
  const graph_ref body = node.body();
  event e{gpu};
  wait_word<std::uint32_t> w;
  value_batch step;
  step.write(w, 1);
  const auto refused = [&](const auto& what, const char* name) {
    const auto failure = failure_of([&] { static_cast<void>(body.add(what)); });
    ASSERT_TRUE(failure) << name;
    EXPECT_EQ(failure->result(), errc::not_supported) << name;
    EXPECT_TRUE(hint_contains(failure, name)) << failure->what();
  };
  refused(host_function_parameters{[] {}}, "host function");
  refused(event_record_parameters{e}, "event record");
  refused(event_wait_parameters{e}, "event wait");
  refused(value_batch_parameters{step}, "value batch");
  refused(allocation_parameters{gpu, 400}, "allocation");
  EXPECT_EQ(body.node_count(), 0u);

  // Also in child graphs, nested ones, and graphs that are added to them later.
  graph innermost;
  const host_function_node bad = innermost.add(host_function_parameters{[] {}});
  innermost.tag(bad, "bad");
  graph child;
  static_cast<void>(child.add(child_graph_parameters{innermost}));
  refused(child_graph_parameters{child}, "\"bad\"");
  EXPECT_TRUE(hint_contains(
      failure_of([&] { static_cast<void>(add_moved_child(body, std::move(child))); }), "\"bad\""));
  EXPECT_FALSE(child.closed());
  graph moved;
  const graph_ref held = moved;
  static_cast<void>(add_moved_child(body, std::move(moved)));
  EXPECT_EQ(result_of([&] { static_cast<void>(held.add(host_function_parameters{[] {}})); }),
            errc::not_supported);
  graph good;
  static_cast<void>(good.add(fill_parameters{std::span<int>{x.data(), 1}, 1}));
  const child_graph_node inside = body.add(child_graph_parameters{good});
  EXPECT_EQ(
      result_of([&] { static_cast<void>(inside.child().add(host_function_parameters{[] {}})); }),
      errc::not_supported);
  EXPECT_EQ(run_bodies(g.instantiate()), "1000");
}

// Instantiation finds nodes that were added directly through the driver, and the error names them.
TEST_F(ConditionalNode, ANodeAddedToABodyThroughTheDriverIsNamedAtInstantiation) {
  const conditional_node node = g.add(if_parameters{condition{g, 1}});
  const abi::CUDA_HOST_NODE_PARAMS params{[](void*) {}, nullptr};
  abi::CUgraphNode raw = nullptr;
  ASSERT_EQ(driver().cuGraphAddHostNode(&raw, node.body().get(), nullptr, 0, &params),
            abi::CUDA_SUCCESS);
  node.body().tag(graph_node{raw}, "directly through the driver");
  const auto failure = failure_of([&] { static_cast<void>(g.instantiate()); });
  ASSERT_TRUE(hint_contains(failure, "host function")) << (failure ? failure->what() : "");
  EXPECT_TRUE(hint_contains(failure, "directly through the driver")) << failure->what();
}

// Rules 130, 131.
TEST_F(ConditionalNode, AConditionServesOneNodeOfItsGraph) {
  graph other;
  const condition c{g, 1};
  const auto foreign = failure_of([&] { static_cast<void>(other.add(if_parameters{c})); });
  ASSERT_TRUE(foreign);
  EXPECT_EQ(foreign->result(), errc::invalid_value);
  EXPECT_TRUE(hint_contains(foreign, to_string(g))) << foreign->what();
  EXPECT_EQ(other.node_count(), 0u);
  const auto unused = failure_of([&] { static_cast<void>(g.instantiate()); });
  ASSERT_TRUE(unused);
  EXPECT_TRUE(hint_contains(unused, "not used by any node")) << unused->what();
  static_cast<void>(g.add(if_parameters{c}));
  const auto twice = failure_of([&] { static_cast<void>(g.add(if_parameters{c})); });
  ASSERT_TRUE(twice);
  EXPECT_TRUE(hint_contains(twice, "another node uses the condition")) << twice->what();
  EXPECT_EQ(g.node_count(), 1u);
  EXPECT_EQ(result_of([&] {
              static_cast<void>(g.add(switch_parameters{condition{g}, 0}));
            }),
            errc::invalid_value);
}

TEST_F(ConditionalNode, AGraphWithAConditionalNodeCannotBeClonedOrNested) {
  const conditional_node node = g.add(if_parameters{condition{g, 1}});
  g.tag(node, "choice");
  const auto cloning = failure_of([&] { static_cast<void>(g.clone()); });
  ASSERT_TRUE(hint_contains(cloning, "\"choice\""));
  EXPECT_EQ(cloning->result(), errc::not_supported);
  graph other;
  for (const auto& refused :
       {failure_of([&] { static_cast<void>(other.add(child_graph_parameters{g})); }),
        failure_of([&] { static_cast<void>(add_moved_child(other, std::move(g))); })}) {
    ASSERT_TRUE(hint_contains(refused, "\"choice\"")) << (refused ? refused->what() : "taken");
    EXPECT_TRUE(hint_contains(refused, "neither copied nor moved")) << refused->what();
    EXPECT_EQ(refused->result(), errc::not_supported);
  }
  EXPECT_FALSE(g.closed());
  set_cells(node);
  graph_exec exec = g.instantiate();
  EXPECT_EQ(result_of([&] { static_cast<void>(g.instantiate()); }), errc::not_supported);
  EXPECT_EQ(result_of([&] { static_cast<void>(node.body().instantiate()); }), errc::not_supported);
  static_cast<void>(g.add(empty_parameters{}));
  const auto again = failure_of([&] { static_cast<void>(exec.update_or_reinstantiate(g)); });
  EXPECT_TRUE(hint_contains(again, "one executable at a time"));
  EXPECT_EQ(run_bodies(exec), "1000");
}

TEST_F(ConditionalNode, ARemovedNodeReleasesItsCondition) {
  const condition c{g, 1};
  const conditional_node node = g.add(if_parameters{c});
  g.remove(node);
  EXPECT_EQ(g.node_count(), 0u);
  const conditional_node again = g.add(if_else_parameters{c});
  set_cells(again);
  EXPECT_EQ(run_bodies(g.instantiate()), "1000");
}

TEST_F(ConditionalNode, TheBodiesOfAForeignConditionalNodeAreUnknown) {
  const condition c{g, 1};
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.handle = c.handle();
  params.conditional.type = abi::CU_GRAPH_COND_TYPE_IF;
  params.conditional.size = 1;
  params.conditional.ctx = c.context().get();
  abi::CUgraphNode raw = nullptr;
  ASSERT_EQ(driver().cuGraphAddNode_v2(&raw, g.get(), nullptr, nullptr, 0, &params),
            abi::CUDA_SUCCESS);
  const auto node = g.nodes().at(0).as<conditional_node>();
  const auto failure = failure_of([&] { static_cast<void>(node.body()); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::not_supported);
  EXPECT_EQ(result_of([&] { static_cast<void>(node.type()); }), errc::not_supported);
}

TEST_F(ConditionalNode, InvalidConditionsAreRefused) {
  g.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(condition{g}); }), errc::closed);
  graph other;
  EXPECT_EQ(result_of([&] { static_cast<void>(condition(other, 0, context_ref{nullptr})); }),
            errc::invalid_context);
}

TEST(ConditionalSupport, TheDriverReportsItsConditionalSupport) {
  const conditional_support known = conditional_support_of_driver();
  EXPECT_TRUE(known.if_and_while || !known.else_and_switch);
  EXPECT_TRUE(known.else_and_switch || !device{}.is_embedded());
}

}  // namespace
}  // namespace weir
