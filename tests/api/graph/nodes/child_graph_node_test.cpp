// SPDX-License-Identifier: Apache-2.0
// child_graph_node_test.cpp - nodes that are graphs: copied in, moved in, replaced.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/core/to_string.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/nodes/child_graph_node.hpp>
#include <weir/graph/nodes/empty_node.hpp>
#include <weir/graph/nodes/fill_node.hpp>
#include <weir/graph/nodes/host_function_node.hpp>
#include <weir/graph/nodes/memory_nodes.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/closure_probe.hpp"
#include "support/errors.hpp"

namespace weir {
namespace {

using test::closure_probe;
using test::closure_stats;
using test::failure_of;
using test::is_destroyed_once;
using test::result_of;

class ChildGraphNode : public ::testing::Test {
 protected:
  [[nodiscard]] host_function_node put(graph_ref in, int value, dependency_list after = {}) {
    return in.add(host_function_parameters{[this, value] { order.push_back(value); }}, after);
  }
  [[nodiscard]] std::vector<int> launched(const graph_exec& exec) {
    order.clear();
    exec.launch(s);
    s.sync();
    return order;
  }

  device gpu;
  stream s{gpu};
  std::vector<int> order;
  graph g;
  graph child;
};

TEST_F(ChildGraphNode, AChildGraphRunsAsACopy) {
  const host_function_node one = put(child, 1);
  static_cast<void>(put(child, 2, one));
  const host_function_node a = put(g, 0);
  const child_graph_node b = g.add(child_graph_parameters{child}, {a});
  static_cast<void>(put(g, 3, b));
  child.close();
  EXPECT_EQ(launched(g.instantiate()), (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(b.child().node_count(), 2u);
  EXPECT_EQ(g.node_count(), 3u);
}

TEST_F(ChildGraphNode, ChangesOfTheCopyDoNotAffectTheOriginal) {
  const host_function_node one = put(child, 1);
  const child_graph_node node = g.add(child_graph_parameters{child});
  const graph_node copied = node.child().find_clone_of(one);
  static_cast<void>(put(node.child(), 2, copied));
  EXPECT_EQ(launched(g.instantiate()), (std::vector{1, 2}));
  EXPECT_EQ(launched(child.instantiate()), std::vector{1});
  EXPECT_EQ(result_of([&] { static_cast<void>(node.child().instantiate()); }), errc::not_supported);
}

TEST_F(ChildGraphNode, ChildGraphsNest) {
  graph innermost;
  static_cast<void>(put(innermost, 5));
  static_cast<void>(child.add(child_graph_parameters{innermost}));
  const child_graph_node a = g.add(child_graph_parameters{child});
  static_cast<void>(g.add(child_graph_parameters{child}, {a}));
  EXPECT_EQ(launched(g.instantiate()), (std::vector{5, 5}));
}

TEST_F(ChildGraphNode, AChildGraphIsReplacedInAnExecutable) {
  static_cast<void>(put(child, 1));
  const child_graph_node node = g.add(child_graph_parameters{child});
  graph_exec exec = g.instantiate();
  graph other;
  static_cast<void>(put(other, 2));
  exec.set(node, child_graph_parameters{other});
  EXPECT_EQ(launched(exec), std::vector{2});
  static_cast<void>(put(other, 3));
  const auto shape = failure_of([&] { exec.set(node, child_graph_parameters{other}); });
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->result(), errc::graph_exec_update_failure);
  EXPECT_NE(shape->hint().find("keep its shape"), std::string::npos) << shape->what();
  EXPECT_EQ(launched(exec), std::vector{2});
}

// The driver copies the replacement's nodes into the executable; weir has to keep the objects of
// its graph.
TEST_F(ChildGraphNode, AnExecutableKeepsTheObjectsOfAReplacementGraph) {
  closure_stats first;
  closure_stats second;
  static_cast<void>(put(child, 1));
  const child_graph_node node = g.add(child_graph_parameters{child});
  const auto set = [&](graph_exec& exec, closure_stats& f) {
    graph other;
    static_cast<void>(
        other.add(host_function_parameters{[w = closure_probe{f}] { w.record_run(); }}));
    exec.set(node, child_graph_parameters{other});
  };
  {
    graph_exec exec = g.instantiate();
    set(exec, first);
    drain_deferred();
    EXPECT_EQ(first.destructions, 0);
    exec.launch(s);
    set(exec, second);
    exec.launch(s);
    s.sync();
    EXPECT_EQ(first.runs, 1);
    EXPECT_EQ(second.runs, 1);
    EXPECT_TRUE(is_destroyed_once(first));
    drain_deferred();
    EXPECT_EQ(second.destructions, 0);
  }
  EXPECT_TRUE(is_destroyed_once(second));
}

TEST_F(ChildGraphNode, AChildGraphSharesTheObjectsKeptByTheOriginal) {
  closure_stats f;
  {
    graph mine;
    {
      graph original;
      original.keep(closure_probe{f});
      static_cast<void>(original.add(empty_parameters{}));
      static_cast<void>(mine.add(child_graph_parameters{original}));
    }
    drain_deferred();
    EXPECT_EQ(f.destructions, 0);
  }
  EXPECT_TRUE(is_destroyed_once(f));
}

// A driver crashes if a graph contains itself.
TEST_F(ChildGraphNode, AGraphCannotContainItself) {
  EXPECT_EQ(result_of([&] { static_cast<void>(g.add(child_graph_parameters{g})); }),
            errc::invalid_value);
  const child_graph_node node = g.add(child_graph_parameters{child});
  EXPECT_EQ(result_of([&] { static_cast<void>(node.child().add(child_graph_parameters{g})); }),
            errc::invalid_value);
  EXPECT_EQ(result_of([&] { static_cast<void>(add_moved_child(node.child(), std::move(g))); }),
            errc::invalid_value);
  EXPECT_FALSE(g.closed());
  EXPECT_EQ(result_of([&] { static_cast<void>(child.add(child_graph_parameters{node.child()})); }),
            errc::not_supported);
}

TEST_F(ChildGraphNode, InvalidChildGraphsAreRefused) {
  const auto add = [&](graph_ref what) {
    return result_of([&] { static_cast<void>(g.add(child_graph_parameters{what})); });
  };
  EXPECT_EQ(add(graph_ref{static_cast<CUgraph_st*>(nullptr)}), errc::invalid_value);
  child.close();
  EXPECT_EQ(add(child), errc::closed);
  EXPECT_EQ(g.node_count(), 0u);
  const graph captured = capture(s, [&](capture_scope& scope) {
    EXPECT_EQ(add(scope.graph()), errc::illegal_state);
    launch_host(s, [] {});
  });
  EXPECT_EQ(captured.node_count(), 1u);
}

// Rule 129: also for nested child graphs, and the error names the node.
TEST_F(ChildGraphNode, AChildGraphThatAllocatesIsMovedAndNotCopied) {
  graph inner;
  const allocation_node a = inner.add(allocation_parameters{gpu, 400});
  inner.tag(a, "scratch");
  const fill_node b = inner.add(fill_parameters{a.memory<int>(), 3}, {a});
  static_cast<void>(inner.add(free_parameters{a}, {b}));
  const auto copying = failure_of([&] { static_cast<void>(g.add(child_graph_parameters{inner})); });
  ASSERT_TRUE(copying);
  EXPECT_EQ(copying->result(), errc::not_supported);
  EXPECT_NE(copying->hint().find("\"scratch\""), std::string::npos) << copying->what();
  EXPECT_NE(copying->hint().find("add_moved_child"), std::string::npos) << copying->what();

  const child_graph_node moved = add_moved_child(g, std::move(inner));
  EXPECT_TRUE(inner.closed());
  EXPECT_EQ(moved.child().find("scratch"), graph_node{a}) << "the move keeps nodes and tags";
  const auto nested = failure_of([&] { static_cast<void>(child.add(child_graph_parameters{g})); });
  ASSERT_TRUE(nested);
  EXPECT_NE(nested->hint().find("\"scratch\""), std::string::npos) << nested->what();
  const graph_exec exec = g.instantiate();
  exec.launch(s);
  exec.launch(s);
  s.sync();
}

TEST_F(ChildGraphNode, AMovedChildGraphRunsInItsParent) {
  const host_function_node one = put(child, 1);
  const host_function_node a = put(g, 0);
  const child_graph_node node = add_moved_child(g, std::move(child), {a});
  EXPECT_TRUE(child.closed());
  EXPECT_EQ(graph_node{node}.dependencies().size(), 1u);
  static_cast<void>(put(node.child(), 2, one));
  EXPECT_EQ(launched(g.instantiate()), (std::vector{0, 1, 2}));
}

TEST_F(ChildGraphNode, ARefusedMoveLeavesTheGraphUnchanged) {
  graph other;
  const empty_node theirs = other.add(empty_parameters{});
  static_cast<void>(put(child, 1));
  EXPECT_EQ(result_of([&] { static_cast<void>(add_moved_child(g, std::move(child), theirs)); }),
            errc::invalid_value);
  EXPECT_EQ(child.node_count(), 1u);
  EXPECT_EQ(launched(child.instantiate()), std::vector{1});
}

// The tags of all levels are copied and name the copied nodes.
TEST_F(ChildGraphNode, TagsAreCopiedWithTheChildGraph) {
  graph innermost;
  const host_function_node deep = put(innermost, 5);
  innermost.tag(deep, "deep");
  const child_graph_node middle = child.add(child_graph_parameters{innermost});
  child.tag(middle, "middle");
  const child_graph_node node = g.add(child_graph_parameters{child});
  g.tag(node, "child");
  const auto check = [&](graph_ref of) {
    const auto found = of.find("child").as<child_graph_node>();
    const auto inside = found.child().find("middle").as<child_graph_node>();
    const graph_node deepest = inside.child().find("deep");
    EXPECT_EQ(deepest.kind(), node_kind::host_function);
    EXPECT_NE(deepest, graph_node{deep});
  };
  check(g);
  const graph copied = g.clone();
  check(copied);
  g.remove(node);
  EXPECT_FALSE(g.find("child"));
  check(copied);
}

// A node of an executable can be set by its tag.
TEST_F(ChildGraphNode, AnExecutableFindsNodesByTag) {
  const host_function_node a = put(g, 1);
  g.tag(a, "step");
  graph_exec exec = g.instantiate();
  exec.set(exec.find("step").as<host_function_node>(),
           host_function_parameters{[this] { order.push_back(4); }});
  EXPECT_EQ(launched(exec), std::vector{4});
}

}  // namespace
}  // namespace weir
