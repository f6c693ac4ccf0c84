// SPDX-License-Identifier: Apache-2.0
// graph_update_test.cpp - executables that are updated to another graph: results, refusals, and
// lifetimes of kept objects.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/memory/copy.hpp>
#include <weir/stream/host_function.hpp>

#include <optional>

#include <gtest/gtest.h>

#include "graph_fixture.hpp"
#include "support/closure_probe.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::gate;

class GraphUpdate : public test::graph_fixture {};

TEST_F(GraphUpdate, AnUpdateChangesTheParametersOfLaterLaunches) {
  graph_exec exec = fill_graph(1).instantiate();
  gate held{s};
  exec.launch(s);
  copy(s, x, host);
  EXPECT_TRUE(exec.update(fill_graph(2)));
  held.open();
  s.sync();
  EXPECT_EQ(host[0], 1) << "a queued launch does not change";
  exec.launch(s);
  EXPECT_EQ(first_element(), 2);
}

// Rules 141 and 142.
TEST_F(GraphUpdate, AnImpossibleUpdateReturnsTheReasonAndChangesNothing) {
  graph_exec exec = fill_graph(1).instantiate();
  const graph longer = fill_chain_graph(2, 2);
  const graph_update more = exec.update(longer);
  EXPECT_FALSE(more);
  EXPECT_EQ(more.reason, update_reason::topology);
  const graph other = capture(s, [&] { launch_host(s, [] {}); });
  const graph_update kind = exec.update(other);
  EXPECT_FALSE(kind);
  EXPECT_EQ(kind.reason, update_reason::node_kind);
  EXPECT_EQ(kind.node, other.nodes().at(0));
  exec.launch(s);
  EXPECT_EQ(first_element(), 1);
}

// Rule 149: objects that the old parameters need live until no launch can use them.
TEST_F(GraphUpdate, AnUpdateTakesOverTheKeptObjects) {
  test::closure_stats old_one;
  test::closure_stats new_one;
  std::optional<graph_exec> exec;
  {
    const graph g = fill_graph(1);
    g.keep(test::closure_probe{old_one});
    exec.emplace(g.instantiate());
  }
  {
    gate held{s};
    exec->launch(s);
    const graph g = fill_graph(2);
    g.keep(test::closure_probe{new_one});
    ASSERT_TRUE(exec->update(g));
    drain_deferred();
    EXPECT_EQ(old_one.destructions, 0) << "a launch needs it";
  }
  s.sync();
  EXPECT_TRUE(test::is_destroyed_once(old_one));
  EXPECT_EQ(new_one.destructions, 0);
  exec.reset();
  EXPECT_TRUE(test::is_destroyed_once(new_one));
}

TEST_F(GraphUpdate, AnExecutableThatCannotBeUpdatedIsReinstantiated) {
  graph_exec exec = fill_graph(1).instantiate({.auto_free_on_launch = true});
  CUgraphExec_st* const before = exec.get();
  EXPECT_TRUE(exec.update_or_reinstantiate(fill_graph(2)));
  EXPECT_EQ(exec.get(), before);
  gate held{s};
  exec.launch(s);
  copy(s, x, host);
  const graph_update answer = exec.update_or_reinstantiate(fill_chain_graph(5, 3));
  EXPECT_EQ(answer.reason, update_reason::topology);
  EXPECT_TRUE(exec.options().auto_free_on_launch);
  held.open();
  s.sync();
  EXPECT_EQ(host[0], 2) << "the earlier launch runs to its end";
  exec.launch(s);
  EXPECT_EQ(first_element(), 7);
}

}  // namespace
}  // namespace weir
