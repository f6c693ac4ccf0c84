// SPDX-License-Identifier: Apache-2.0
// graph_tags_test.cpp - names of nodes: set, found, copied with their graphs, removed with their
// nodes.
#include <weir/capture/capture.hpp>
#include <weir/core/to_string.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/graph_nodes.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"

namespace weir {
namespace {

using detail::driver;
using test::failure_of;
using test::result_of;

class GraphTags : public ::testing::Test {
 protected:
  [[nodiscard]] empty_node empty(dependency_list after = {}) {
    return g.add(empty_parameters{}, after);
  }
  [[nodiscard]] static bool hint_contains(const std::optional<error>& failure, const char* what) {
    return failure && failure->hint().find(what) != std::string::npos;
  }

  device gpu;
  stream s{gpu};
  buffer<int> x{s, 100};
  pinned_buffer<int> host{100};
  graph g;
};

TEST_F(GraphTags, ATagFindsItsNodeAndMayBeReplaced) {
  const empty_node a = empty();
  const empty_node b = empty();
  EXPECT_EQ(g.tag_of(a), "");
  EXPECT_FALSE(g.find("first"));
  g.tag(a, "first");
  g.tag(b, "second");
  EXPECT_EQ(g.tag_of(a), "first");
  EXPECT_EQ(g.find("second"), graph_node{b});
  EXPECT_EQ(g.find("second").graph(), g.ref());
  EXPECT_NE(to_string(graph_node{a}).find("\"first\""), std::string::npos);
  g.tag(a, "other");
  EXPECT_FALSE(g.find("first"));
  g.tag(b, "other");
  EXPECT_TRUE(hint_contains(failure_of([&] { static_cast<void>(g.find("other")); }), "2 nodes"));
  g.tag(b, "");
  EXPECT_EQ(g.find("other"), graph_node{a});
  EXPECT_FALSE(g.find(""));
}

TEST_F(GraphTags, NodesOfOtherGraphsCannotBeTagged) {
  graph other;
  const empty_node a = empty();
  EXPECT_EQ(result_of([&] { other.tag(a, "a"); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { other.tag(graph_node{a.get()}, "a"); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { g.tag(graph_node{}, "a"); }), errc::invalid_value);
  g.tag(graph_node{a.get()}, "a");
  EXPECT_EQ(g.tag_of(a), "a");
  g.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(g.find("a")); }), errc::closed);
  EXPECT_EQ(result_of([&] { g.tag(a, "b"); }), errc::closed);
}

// I10: handles do not survive cloning; tags do.
//
// A removed node is refused, whether it was added by hand or captured, so a new node with its
// handle gets no wrong tag.
TEST_F(GraphTags, ARemovedNodeCannotBeTagged) {
  const empty_node added = empty();
  const graph captured = capture(s, [&] { fill(s, x, 1); });
  const graph_node recorded = captured.nodes().front();
  g.remove(added);
  captured.ref().remove(recorded);
  for (const graph_node gone : {graph_node{added}, recorded}) {
    const auto refused = failure_of([&] { gone.graph().tag(gone, "gone"); });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->result(), errc::invalid_value);
    EXPECT_TRUE(hint_contains(refused, "or was destroyed")) << refused->what();
    EXPECT_FALSE(gone.graph().find("gone"));
  }
}

TEST_F(GraphTags, TagsSurviveCloningAndInstantiating) {
  const fill_node a = g.add(fill_parameters{x, 1});
  g.tag(a, "fill");
  const graph copied = g.clone();
  const graph_node found = copied.find("fill");
  EXPECT_EQ(found, copied.find_clone_of(a));
  EXPECT_NE(found, graph_node{a});
  graph_exec exec = g.instantiate();
  g.tag(a, "later");  // the executable keeps its own tag
  EXPECT_EQ(exec.find("fill"), graph_node{a});
  EXPECT_FALSE(exec.find("later"));
  const graph_exec moved = std::move(exec);
  EXPECT_EQ(moved.find("fill"), graph_node{a});
  EXPECT_EQ(result_of([&] { static_cast<void>(exec.find("fill")); }), errc::closed);
}

// A clone ignores tags of nodes that were removed directly through the driver.
TEST_F(GraphTags, ANodeRemovedThroughTheDriverIsNotSearchedForInClones) {
  const empty_node stays = empty();
  graph inner;
  inner.add(empty_parameters{});
  for (const graph_node gone :
       {graph_node{empty()}, graph_node{g.add(child_graph_parameters{inner})}}) {
    g.tag(gone, "gone");
    g.tag(stays, "stays");
    EXPECT_EQ(driver().cuGraphDestroyNode(gone.get()), abi::CUDA_SUCCESS);
    const graph copied = g.clone();
    EXPECT_EQ(copied.find("stays"), copied.find_clone_of(stays));
    EXPECT_FALSE(copied.find("gone"));
  }
}

// A later graph or node that gets the handle has no tag.
TEST_F(GraphTags, AReusedHandleHasNoTag) {
  std::vector<CUgraph_st*> graphs;
  for (int i = 0; i < 100; ++i) {
    graph one;
    const empty_node a = one.add(empty_parameters{});
    EXPECT_EQ(one.tag_of(a), "") << "the handle of an earlier graph";
    one.tag(a, "a");
    one.remove(a);
    const empty_node b = one.add(empty_parameters{});
    EXPECT_EQ(one.tag_of(b), "") << "the handle of an earlier node";
    EXPECT_FALSE(one.find("a"));
    one.tag(b, "b");
  }
}

// A graph that is destroyed directly through the driver loses its tags, too.
TEST_F(GraphTags, TagsEndWithAForeignGraph) {
  for (int i = 0; i < 100; ++i) {
    abi::CUgraph raw = nullptr;
    ASSERT_EQ(driver().cuGraphCreate(&raw, 0), abi::CUDA_SUCCESS);
    const graph_ref foreign{raw};
    const empty_node a = foreign.add(empty_parameters{});
    EXPECT_EQ(foreign.tag_of(a), "");
    foreign.tag(a, "a");
    EXPECT_EQ(foreign.tag_of(a), "a");
    ASSERT_EQ(driver().cuGraphDestroy(raw), abi::CUDA_SUCCESS);
    // The driver reports the destruction of a graph asynchronously.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    while (!foreign.tag_of(a).empty() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    EXPECT_EQ(foreign.tag_of(a), "");
  }
}

TEST_F(GraphTags, ANodeIsTaggedDuringItsCapture) {
  const graph captured = capture(s, [&](capture_scope& scope) {
    launch_host(s, [] {});
    const capture_info now = capture_info_of(s);
    ASSERT_EQ(now.frontier.size(), 1u);
    scope.graph().tag(now.frontier[0].node, "call");
  });
  EXPECT_EQ(captured.find("call").kind(), node_kind::host_function);
}

TEST_F(GraphTags, TagsRemainIfDestroyingTheGraphFails) {
  detail::fault_table faults;
  const graph_node a = empty();
  g.tag(a, "a");
  CUgraph_st* const handle = g.get();
  faults.fail(&detail::driver_table::cuGraphDestroy, 1, abi::CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(result_of([&] { g.close(); }), errc::illegal_state);
  EXPECT_TRUE(g.closed());
  EXPECT_EQ(graph::adopt(handle).tag_of(a), "a");
}

// Tagging all nodes takes time in proportion to their number: the driver lists them once.
TEST_F(GraphTags, TheDriverListsTheNodesOnceHoweverManyAreTagged) {
  const graph captured = capture(s, [&] {
    for (int i = 0; i < 100; ++i) fill(s, x, i);
  });
  const std::vector<graph_node> nodes = captured.nodes();
  detail::fault_table faults;
  const int before = faults.count(&detail::driver_table::cuGraphGetNodes);
  for (const graph_node node : nodes) captured.tag(node, "step");
  const int listing = 2;  // for the number of nodes, and for the nodes
  EXPECT_EQ(faults.count(&detail::driver_table::cuGraphGetNodes) - before, listing);
}

TEST_F(GraphTags, TheDriverListsNoNodesForTheFrontierOfACapture) {
  detail::fault_table faults;
  const graph captured = capture(s, [&](capture_scope& scope) {
    int before = 0;
    for (int i = 0; i < 10; ++i) {
      fill(s, x, i);
      scope.graph().tag(capture_info_of(s).frontier.at(0).node, "step");
      if (i == 0) before = faults.count(&detail::driver_table::cuGraphGetNodes);
    }
    EXPECT_EQ(faults.count(&detail::driver_table::cuGraphGetNodes), before);
  });
}

TEST_F(GraphTags, ANodeThatWasListedAndRemovedCannotBeTagged) {
  const graph captured = capture(s, [&] {
    fill(s, x, 1);
    fill(s, x, 2);
  });
  const std::vector<graph_node> nodes = captured.nodes();
  captured.tag(nodes[0], "first");
  captured.ref().remove(nodes[1]);
  EXPECT_EQ(result_of([&] { captured.tag(nodes[1], "second"); }), errc::invalid_value);
}

}  // namespace
}  // namespace weir
