// SPDX-License-Identifier: Apache-2.0
// exec_nodes_test.cpp - single nodes of executables: disabled and enabled; nodes of other graphs
// refused.
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/graph_nodes.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "api/graph/node_metadata.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::gate;
using test::result_of;

class ExecNodes : public ::testing::Test {
 protected:
  [[nodiscard]] int launch_and_read(const graph_exec& exec) {
    fill(s, x, 0);
    exec.launch(s);
    copy(s, x, host);
    s.sync();
    return host[0];
  }

  device gpu;
  stream s{gpu};
  buffer<int> x{s, 10};
  pinned_buffer<int> host{10};
  graph g;
};

// Rule 146.
TEST_F(ExecNodes, NodesAreDisabledAndEnabled) {
  const fill_node a = g.add(fill_parameters{x, 1});
  const fill_node b = g.add(fill_parameters{x, 2}, {a});
  graph_exec exec = g.instantiate();
  EXPECT_TRUE(exec.enabled(b));
  exec.disable(b);
  EXPECT_FALSE(exec.enabled(b));
  EXPECT_EQ(launch_and_read(exec), 1);
  exec.set(b, fill_parameters{x, 3});  // used when the node is enabled again
  EXPECT_FALSE(exec.enabled(b));
  EXPECT_EQ(launch_and_read(exec), 1);
  exec.enable(b);
  EXPECT_EQ(launch_and_read(exec), 3);
  exec.disable(a);
  exec.disable(a);
  EXPECT_EQ(launch_and_read(exec), 3);
}

TEST_F(ExecNodes, ADisabledNodeKeepsItsPlaceInTheOrder) {
  stream t{gpu};
  event e{gpu};
  gate held{t};
  t.record(e);
  const event_wait_node wait = g.add(event_wait_parameters{e});
  const fill_node fill = g.add(fill_parameters{x, 1}, {wait});
  static_cast<void>(g.add(copy_parameters{x, host}, {fill}));
  graph_exec exec = g.instantiate();
  exec.disable(fill);
  exec.launch(s);
  EXPECT_FALSE(s.done());
  held.open();
  s.sync();
}

TEST_F(ExecNodes, NodesOfKindsThatAreAlwaysEnabledAreRefused) {
  const empty_node a = g.add(empty_parameters{});
  const host_function_node b = g.add(host_function_parameters{[] {}});
  graph_exec exec = g.instantiate();
  for (const graph_node node : {graph_node{a}, graph_node{b}}) {
    EXPECT_EQ(result_of([&] { exec.disable(node); }), errc::invalid_value);
    EXPECT_EQ(result_of([&] { exec.enable(node); }), errc::invalid_value);
    const auto failure = failure_of([&] { static_cast<void>(exec.enabled(node)); });
    ASSERT_TRUE(failure);
    EXPECT_NE(failure->hint().find("kernels, copies and fills"), std::string::npos)
        << failure->what();
  }
}

// Rule 145.
TEST_F(ExecNodes, NodesOfOtherGraphsAreRefused) {
  const fill_node a = g.add(fill_parameters{x, 1});
  graph other;
  const fill_node theirs = other.add(fill_parameters{x, 1});
  graph copied = g.clone();
  const auto same = copied.find_clone_of(a).as<fill_node>();
  graph_exec exec = g.instantiate();
  for (const fill_node node : {theirs, same}) {
    EXPECT_EQ(result_of([&] { exec.disable(node); }), errc::invalid_value);
    EXPECT_EQ(result_of([&] { exec.set(node, fill_parameters{x, 2}); }), errc::invalid_value);
  }
  EXPECT_EQ(result_of([&] { exec.disable(graph_node{}); }), errc::invalid_value);
  EXPECT_EQ(launch_and_read(exec), 1);
}

// A driver may give the handles of the destroyed nodes to new ones.
TEST_F(ExecNodes, NodesOfADestroyedGraphAreNotFound) {
  graph_exec exec = [&] {
    graph mine;
    mine.tag(mine.add(fill_parameters{x, 1}), "clear");
    return mine.instantiate();
  }();
  const fill_node other = g.add(fill_parameters{x, 2});
  g.tag(other, "other");
  const auto expect_gone = [](graph_exec& of, const char* tag) {
    const auto failure = failure_of([&] { static_cast<void>(of.find(tag)); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::invalid_value);
    EXPECT_NE(failure->hint().find("was destroyed"), std::string::npos) << failure->what();
  };
  expect_gone(exec, "clear");
  EXPECT_FALSE(exec.find("other"));
  EXPECT_EQ(launch_and_read(exec), 1);
  graph_exec second = g.instantiate();
  EXPECT_EQ(second.find("other").graph(), g.ref());
  g.remove(other);
  expect_gone(second, "other");
  detail::set_tag(g.get(), other.get(), "next");  // as if a new node had its handle
  expect_gone(second, "other");
  EXPECT_EQ(launch_and_read(second), 2);
}

// The driver of the graph refuses it, even if another node has the handle now.
TEST_F(ExecNodes, RemovedNodesAreRefused) {
  fill_node node = g.add(fill_parameters{x, 1});
  graph_exec exec = g.instantiate();
  g.remove(node);
  EXPECT_EQ(result_of([&] { exec.set(node, fill_parameters{x, 2}); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { exec.disable(node); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { static_cast<void>(exec.enabled(node)); }), errc::invalid_value);
  EXPECT_EQ(launch_and_read(exec), 1);
}

TEST_F(ExecNodes, NodeFunctionsOfAClosedExecutableThrowClosed) {
  const fill_node a = g.add(fill_parameters{x, 1});
  graph_exec exec = g.instantiate();
  graph_exec moved = std::move(exec);
  EXPECT_EQ(result_of([&] { exec.set(a, fill_parameters{x, 2}); }), errc::closed);
  moved.close();
  EXPECT_EQ(result_of([&] { moved.disable(a); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(moved.enabled(a)); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(moved.find("a")); }), errc::closed);
}

TEST_F(ExecNodes, DisabledNodesStayDisabledAcrossAnUpdate) {
  const fill_node a = g.add(fill_parameters{x, 1});
  graph_exec exec = g.instantiate();
  exec.disable(a);
  a.set(fill_parameters{x, 2});
  ASSERT_TRUE(exec.update(g));
  EXPECT_FALSE(exec.enabled(a));
  EXPECT_EQ(launch_and_read(exec), 0);
  exec.enable(a);
  EXPECT_EQ(launch_and_read(exec), 2);
}

// The returned node is the one of the new graph that does not match.
TEST_F(ExecNodes, AFailedUpdateReturnsTheNodeOfTheNewGraph) {
  static_cast<void>(g.add(fill_parameters{x, 1}));
  graph_exec exec = g.instantiate();
  graph other;
  const empty_node theirs = other.add(empty_parameters{});
  const graph_update answer = exec.update(other);
  EXPECT_EQ(answer.reason, update_reason::node_kind);
  EXPECT_EQ(answer.node, graph_node{theirs});
  EXPECT_EQ(answer.node.graph(), other.ref());
  EXPECT_EQ(launch_and_read(exec), 1);
}

TEST_F(ExecNodes, ARepeatedSetDoesNotAccumulateOwners) {
  const fill_node a = g.add(fill_parameters{x, 0});
  graph_exec exec = g.instantiate();
  for (int i = 0; i < 1000; ++i) exec.set(a, fill_parameters{x, i});
  EXPECT_EQ(launch_and_read(exec), 999);
}

}  // namespace
}  // namespace weir
