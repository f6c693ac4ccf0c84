// SPDX-License-Identifier: Apache-2.0
// graph_parts_test.cpp - child graphs and conditional nodes with failing driver calls.
#include <weir/device/context.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/graph_nodes.hpp>
#include <weir/memory/buffer.hpp>

#include <utility>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"

namespace weir {
namespace {

using test::driver_table;
using test::every_call_may_fail;
using test::fault_table;
using test::result_of;
using test::unhandled_errors;

class GraphPartFaults : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
  buffer<int> x{s, 100};
  graph g;
};

TEST_F(GraphPartFaults, ChildGraphsReportEachFailedCall) {
  graph child;
  const fill_node a = child.add(fill_parameters{x, 1});
  every_call_may_fail([&] {
    graph mine;
    mine.add(child_graph_parameters{child});
    return mine;
  });
  child.tag(a, "a");
  every_call_may_fail([&] {
    graph mine;
    try {
      static_cast<void>(mine.add(child_graph_parameters{child}));
    } catch (...) {
      EXPECT_EQ(mine.node_count(), 0u);
      throw;
    }
    return mine;
  });
  const child_graph_node node = g.add(child_graph_parameters{child});
  every_call_may_fail([&] { static_cast<void>(node.child()); });
}

// A graph with memory nodes cannot remove nodes, so the new node stays, without its tags.
TEST_F(GraphPartFaults, AnAddedChildStaysWithoutItsTagsIfItCannotBeRemoved) {
  graph child;
  child.tag(child.add(fill_parameters{x, 1}), "a");
  static_cast<void>(g.add(allocation_parameters{gpu, 400}));
  const unhandled_errors unhandled;
  fault_table faults;
  faults.fail(&driver_table::cuGraphNodeFindInClone, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
  const child_graph_node node = g.add(child_graph_parameters{child});
  EXPECT_EQ(g.node_count(), 2u);
  EXPECT_EQ(node.child().node_count(), 1u);
  EXPECT_FALSE(node.child().find("a"));
  ASSERT_EQ(unhandled.errors().size(), 1u);
  EXPECT_STREQ(unhandled.errors().front().call(), "cuGraphNodeFindInClone");
}

TEST_F(GraphPartFaults, ReplacingAChildInAnExecutableReportsEachFailedCall) {
  graph child;
  static_cast<void>(child.add(host_function_parameters{[] {}}));
  const child_graph_node node = g.add(child_graph_parameters{child});
  every_call_may_fail([&] {
    graph_exec exec = g.instantiate();
    exec.set(node, child_graph_parameters{child});
    return exec;
  });
}

TEST_F(GraphPartFaults, AChildGraphStaysIfItCannotBeMoved) {
  graph child;
  static_cast<void>(child.add(fill_parameters{x, 1}));
  {
    fault_table faults;
    faults.fail(&driver_table::cuGraphAddNode_v2, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(result_of([&] { static_cast<void>(add_moved_child(g, std::move(child))); }),
              errc::out_of_memory);
  }
  EXPECT_FALSE(child.closed());
  EXPECT_EQ(child.node_count(), 1u);
  static_cast<void>(add_moved_child(g, std::move(child)));
  EXPECT_TRUE(child.closed());
}

TEST_F(GraphPartFaults, ConditionsReportEachFailedCall) {
  const context_scope current{gpu};
  every_call_may_fail([&] {
    graph mine;
    const condition c{mine, 1};
    try {
      static_cast<void>(mine.add(if_parameters{c}).body());
    } catch (...) {
      EXPECT_EQ(mine.node_count(), 0u);
      throw;
    }
    return mine;
  });
  every_call_may_fail([&] {
    graph mine;
    static_cast<void>(
        mine.add(switch_parameters{condition{mine}, 3}).body(2).add(empty_parameters{}));
    return mine;
  });
  every_call_may_fail([&] { static_cast<void>(conditional_support_of_driver()); });
}

// A driver before CUDA 12.8 supports no second body. The node is refused before the driver sees it.
TEST_F(GraphPartFaults, ConditionsAreRefusedByOlderDrivers) {
  const condition c{g, 1};
  fault_table faults;
  faults.fail_from(&driver_table::cuGraphConditionalHandleCreate, 1,
                   abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
  EXPECT_EQ(result_of([&] { static_cast<void>(condition{g}); }), errc::call_requires_newer_driver);
}

}  // namespace
}  // namespace weir
