// SPDX-License-Identifier: Apache-2.0
// graph_nodes_out_of_memory_test.cpp - graph nodes without free memory: either added or not.
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/nodes/child_graph_node.hpp>
#include <weir/graph/nodes/conditional_node.hpp>
#include <weir/graph/nodes/empty_node.hpp>
#include <weir/graph/nodes/fill_node.hpp>
#include <weir/graph/nodes/memory_nodes.hpp>
#include <weir/memory/buffer.hpp>

#include <utility>

#include <gtest/gtest.h>

#include "embedded/core/out_of_memory.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using embedded::out_of_memory;
using test::unhandled_errors;

class GraphNodesOutOfMemory : public ::testing::Test {
 protected:
  // Makes each allocation of change() fail in turn, until change() succeeds. After each failure
  // expects that nothing has changed.
  template <class Change, class Unchanged>
  static void each_allocation_may_fail(const Change& change, const Unchanged& unchanged) {
    for (int after = 0;; ++after) {
      SCOPED_TRACE(testing::Message() << "after " << after);
      const unhandled_errors unhandled;
      bool done = false;
      try {
        const out_of_memory now{after};
        change();
        done = true;
      } catch (const std::exception&) {
      }
      EXPECT_EQ(unhandled.count(), 0u);
      if (done) {
        EXPECT_GT(after, 0) << "the change allocates no memory";
        return;
      }
      ASSERT_TRUE(unchanged());
      ASSERT_LT(after, 1000);
    }
  }

  device gpu;
  context_scope current{gpu};
  graph g;
};

TEST_F(GraphNodesOutOfMemory, AChildGraphStaysIfItCannotBeMoved) {
  graph child;
  const empty_node inside = child.add(empty_parameters{});
  child.tag(inside, "inside");
  each_allocation_may_fail([&] { static_cast<void>(add_moved_child(g, std::move(child))); },
                           [&] { return !child.closed() && g.node_count() == 0; });
  EXPECT_TRUE(child.closed());
  EXPECT_EQ(g.node_count(), 1u);
  EXPECT_EQ(g.nodes().at(0).as<child_graph_node>().child().find("inside"), graph_node{inside});
}

TEST_F(GraphNodesOutOfMemory, CopyingAChildGraphAddsNothingIfAnAllocationFails) {
  graph child;
  child.tag(child.add(empty_parameters{}), "inside");
  each_allocation_may_fail([&] { static_cast<void>(g.add(child_graph_parameters{child})); },
                           [&] { return g.node_count() == 0; });
  EXPECT_TRUE(g.nodes().at(0).as<child_graph_node>().child().find("inside"));
}

// A graph with memory nodes cannot remove a node again.
TEST_F(GraphNodesOutOfMemory, AConditionalNodeIsNotAddedIfAnAllocationFails) {
  static_cast<void>(g.add(allocation_parameters{gpu, 400}));
  const condition c{g, 1};
  conditional_node node;
  each_allocation_may_fail(
      [&] {
        node = g.add(switch_parameters{c, 3});
      },
      [&] { return g.node_count() == 1; });
  EXPECT_EQ(node.bodies().size(), 3u);
}

}  // namespace
}  // namespace weir
