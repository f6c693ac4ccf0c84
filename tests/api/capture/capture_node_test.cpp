// SPDX-License-Identifier: Apache-2.0
// capture_node_test.cpp - nodes added at the point where the capture of a stream is.
#include <weir/capture/capture_frontier.hpp>
#include <weir/capture/capture_node.hpp>
#include <weir/capture/capture_to.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/graph_nodes.hpp>

#include <string>

#include <gtest/gtest.h>

#include "capture_fixture.hpp"
#include "support/errors.hpp"

namespace weir {
namespace {

using test::failure_of;

class CaptureNode : public test::capture_fixture {};

TEST_F(CaptureNode, ANodeStandsBetweenTheWorkBeforeAndAfterIt) {
  const graph g = capture(s, [&] {
    fill(s, x, 1);
    const fill_node middle = capture_node(s, fill_parameters{x, 2});
    EXPECT_EQ(middle.parameters().value(), 2u);
    copy(s, x, host);
  });
  EXPECT_EQ(g.node_count(), 3u);
  EXPECT_EQ(g.edges().size(), 2u);
  EXPECT_EQ(g.roots().size(), 1u);
  g.instantiate().launch(s);
  s.sync();
  EXPECT_EQ(host[0], 2);
}

TEST_F(CaptureNode, ANodeComesAfterAllStreamsThatTheStreamHasWaitedFor) {
  const graph g = capture(s, [&] {
    fill(s, x, 1);
    fork();
    s.wait(t);
    const empty_node both = capture_node(s, empty_parameters{});
    EXPECT_EQ(both.dependencies().size(), 2u);
    fill(s, x, 2);
  });
  EXPECT_EQ(g.node_count(), 4u);
}

TEST_F(CaptureNode, TheFirstNodeOfACaptureIsARoot) {
  const graph g = capture(s, [&] {
    capture_node(s, empty_parameters{});
    fill(s, x, 1);
  });
  EXPECT_EQ(g.roots().size(), 1u);
  EXPECT_EQ(g.edges().size(), 1u);
}

TEST_F(CaptureNode, AConditionalNodeIsCaptured) {
  const auto support = conditional_support_of_driver();
  if (!support.if_and_while) GTEST_SKIP() << "the driver has no conditional nodes";
  const graph g = capture(s, [&](capture_scope& scope) {
    fill(s, x, 1);
    const condition always{scope.graph(), 1};
    const auto node = capture_node(scope, if_parameters{always});
    capture_to(t, node.body(), [&] { fill(t, x, 3); });
    copy(s, x, host);
  });
  g.instantiate().launch(s);
  s.sync();
  EXPECT_EQ(host[0], 3);
}

TEST_F(CaptureNode, AStreamThatDoesNotCaptureIsRefused) {
  const auto failure = failure_of([&] { capture_node(s, empty_parameters{}); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::illegal_state);
  EXPECT_TRUE(message_contains(*failure, "the stream is not capturing")) << failure->what();
}

TEST_F(CaptureNode, ARefusedNodeLeavesTheCaptureAsItWas) {
  const graph g = capture(s, [&] {
    fill(s, x, 1);
    EXPECT_NE(test::result_of([&] {
                capture_node(s, host_function_parameters{nullptr, nullptr});
              }),
              errc::success);
    fill(s, x, 2);
  });
  EXPECT_EQ(g.node_count(), 2u);
  EXPECT_EQ(g.edges().size(), 1u);
}

}  // namespace
}  // namespace weir
