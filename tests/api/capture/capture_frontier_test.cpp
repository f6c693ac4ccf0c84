// SPDX-License-Identifier: Apache-2.0
// capture_frontier_test.cpp - manual changes of a capturing stream's frontier: the nodes that its
// next operation depends on.
#include <weir/capture/capture_frontier.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/nodes/empty_node.hpp>
#include <weir/graph/nodes/fill_node.hpp>
#include <weir/stream/host_function.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "capture_fixture.hpp"
#include "support/errors.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::result_of;

class CaptureFrontier : public test::capture_fixture {
 protected:
  [[nodiscard]] static std::vector<graph_node> frontier_of(stream_ref stream) {
    std::vector<graph_node> nodes;
    for (const capture_dependency& each : capture_info_of(stream).frontier)
      nodes.push_back(each.node);
    return nodes;
  }
  static void expect_frontier(stream_ref stream, const std::vector<graph_node>& nodes) {
    const std::vector<graph_node> now = frontier_of(stream);
    EXPECT_EQ(now.size(), nodes.size());
    for (const graph_node node : nodes) EXPECT_NE(std::ranges::find(now, node), now.end());
  }
};

// Rule 107: add extends, set replaces, and add is the default.
TEST_F(CaptureFrontier, UpdateCaptureDependenciesExtendsOrReplacesTheFrontier) {
  const graph g = capture(s, [&](capture_scope& scope) {
    fill(s, x, 1);
    const graph_node a = frontier_of(s).at(0);
    const graph_node b = scope.graph().add(empty_parameters{});
    update_capture_dependencies(s, b);
    expect_frontier(s, {a, b});
    update_capture_dependencies(s, b, dependency_update::add);
    expect_frontier(s, {a, b});
    update_capture_dependencies(s, {b}, dependency_update::set);
    expect_frontier(s, {b});
    fill(s, x, 2);
    EXPECT_EQ(frontier_of(s).at(0).dependencies().at(0).source, b);
    update_capture_dependencies(s, {}, dependency_update::set);
    expect_frontier(s, {});
    fill(s, y, 3);
  });
  EXPECT_EQ(g.node_count(), 4u);
  EXPECT_EQ(g.edges().size(), 1u);
  EXPECT_EQ(g.roots().size(), 3u);
}

// A manually added node can stand between two operations of the stream (rule of H7).
TEST_F(CaptureFrontier, AManuallyAddedNodeCanJoinTheStreamOrder) {
  const graph g = capture(s, [&](capture_scope& scope) {
    fill(s, x, 1);
    const auto between = scope.graph().add(fill_parameters{x, 2}, frontier_of(s));
    update_capture_dependencies(s, between, dependency_update::set);
    copy(s, x, host);
  });
  ASSERT_EQ(g.node_count(), 3u);
  EXPECT_EQ(g.edges().size(), 2u);
  g.instantiate().launch(s);
  s.sync();
  EXPECT_EQ(host[0], 2);
}

TEST_F(CaptureFrontier, AnEarlierFrontierCanBeSetAgain) {
  const graph g = capture(s, [&] {
    fill(s, x, 1);
    const capture_info before = capture_info_of(s);
    fill(s, y, 2);
    update_capture_dependencies(s, before.frontier, dependency_update::set);
    fill(s, y, 3);
  });
  EXPECT_EQ(g.edges().size(), 2u);
  EXPECT_EQ(g.roots().size(), 1u);
}

// Rule 108.
TEST_F(CaptureFrontier, AStreamWithAClearedFrontierNeedsNoJoin) {
  const graph g = capture(s, [&] {
    fork();
    update_capture_dependencies(t, {}, dependency_update::set);
  });
  EXPECT_EQ(g.node_count(), 1u);
  expect_not_capturing();
}

// Rule 107.
TEST_F(CaptureFrontier, UpdatingDependenciesOfANonCapturingStreamIsRefused) {
  const graph g;
  const graph_node node = graph_ref{g}.add(empty_parameters{});
  EXPECT_EQ(result_of([&] { update_capture_dependencies(s, node); }), errc::illegal_state);
  EXPECT_EQ(result_of([&] { update_capture_dependencies(s, {}); }), errc::illegal_state);
  const context_scope current{gpu};
  EXPECT_EQ(result_of([&] { update_capture_dependencies(stream_ref::legacy(), {}); }),
            errc::illegal_state);
  expect_not_capturing();
}

// Rule 109: a foreign node is refused by name, and the frontier does not change.
TEST_F(CaptureFrontier, NodesOfOtherGraphsAreRefusedByName) {
  const graph g = capture(s, [&] {
    fill(s, x, 1);
    const std::vector<graph_node> before = frontier_of(s);
    for_each_foreign_node([&](graph_node node, const char* named) {
      const auto refused = failure_of([&] { update_capture_dependencies(s, {before[0], node}); });
      ASSERT_TRUE(refused);
      EXPECT_EQ(refused->result(), errc::invalid_value);
      EXPECT_TRUE(message_contains(*refused, named)) << refused->what();
      expect_frontier(s, before);
    });
    EXPECT_EQ(result_of([&] {
                update_capture_dependencies(s, before, static_cast<dependency_update>(2));
              }),
              errc::invalid_value);
  });
  EXPECT_EQ(g.node_count(), 1u);
}

TEST_F(CaptureFrontier, EdgeDataThatTheNodeTypesDoNotSupportIsRefused) {
  const graph g = capture(s, [&] {
    fill(s, x, 1);
    std::vector<capture_dependency> programmatic = capture_info_of(s).frontier;
    programmatic.at(0).data = {.from_port = 1, .to_port = 0, .type = 1};
    const auto refused =
        failure_of([&] { update_capture_dependencies(s, programmatic, dependency_update::set); });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->result(), errc::invalid_value);
    EXPECT_TRUE(message_contains(*refused, "between kernels")) << refused->what();
    EXPECT_EQ(capture_status_of(s), capture_status::active);
  });
  EXPECT_EQ(g.node_count(), 1u);
}

TEST_F(CaptureFrontier, UpdatingDependenciesInAHostFunctionIsRefused) {
  errc answer = errc::success;
  launch_host(s, [&] { answer = result_of([&] { update_capture_dependencies(t, {}); }); });
  s.sync();
  EXPECT_EQ(answer, errc::not_permitted);
}

}  // namespace
}  // namespace weir
