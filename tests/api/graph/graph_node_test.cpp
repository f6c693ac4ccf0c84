// SPDX-License-Identifier: Apache-2.0
// graph_node_test.cpp - nodes that are added by hand, ordered, queried and removed.
#include <weir/capture/capture.hpp>
#include <weir/core/to_string.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/graph_nodes.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/errors.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::result_of;

class GraphNode : public ::testing::Test {
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

TEST_F(GraphNode, ANodeIsAddedAfterItsDependencies) {
  const fill_node a = g.add(fill_parameters{x, 1});
  const fill_node b = g.add(fill_parameters{x, 2}, {a});
  const copy_node c = g.add(copy_parameters{x, host}, {a, b});
  const empty_node d = empty(c);
  const std::vector<graph_node> both{a, c};
  const empty_node e = empty(both);
  EXPECT_EQ(g.nodes(), (std::vector<graph_node>{a, b, c, d, e}));
  EXPECT_EQ(g.edges().size(), 6u);
  EXPECT_EQ(g.roots(), std::vector<graph_node>{a});
  ASSERT_EQ(c.dependencies().size(), 2u);
  EXPECT_EQ(c.dependencies()[0], (graph_edge{a, c, {}}));
  EXPECT_EQ(a.dependents().size(), 3u);
  EXPECT_TRUE(a.dependencies().empty());
  g.instantiate().launch(s);
  s.sync();
  EXPECT_EQ(host[99], 2);
}

TEST_F(GraphNode, ANodeHasItsKindAndItsGraph) {
  const empty_node a = empty();
  static_assert(empty_node::kind() == node_kind::empty);
  EXPECT_EQ(graph_node{a}.kind(), node_kind::empty);
  EXPECT_EQ(a.graph(), g.ref());
  EXPECT_EQ(g.nodes().at(0).graph(), g.ref());
  EXPECT_EQ(graph_node{a.get()}, graph_node{a}) << "equality compares the handles only";
  EXPECT_EQ(graph_node{a.get()}.graph().get(), nullptr);
  EXPECT_FALSE(graph_node{});
  EXPECT_FALSE(fill_node{});
}

// I8: a node from a list can be cast to its own type only.
TEST_F(GraphNode, ANodeIsCastToItsOwnTypeOnly) {
  static_cast<void>(g.add(fill_parameters{x, 7}));
  const graph_node found = g.nodes().at(0);
  EXPECT_EQ(found.as<fill_node>().parameters().value(), 7u);
  const auto failure = failure_of([&] { static_cast<void>(found.as<copy_node>()); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::wrong_type);
  EXPECT_TRUE(hint_contains(failure, "a fill node, not a copy node")) << failure->what();
  EXPECT_EQ(result_of([&] { static_cast<void>(graph_node{}.as<fill_node>()); }),
            errc::invalid_value);
}

TEST_F(GraphNode, VisitCallsTheOverloadForTheTypeOfTheNode) {
  static_cast<void>(g.add(fill_parameters{x, 7}));
  static_cast<void>(g.add(copy_parameters{x, host}));
  static_cast<void>(g.add(host_function_parameters{[] {}}));
  static_cast<void>(empty());
  std::vector<std::string> seen;
  for (const graph_node node : g.nodes()) {
    seen.push_back(visit(
        node, [](fill_node n) { return "fill " + std::to_string(n.parameters().value()); },
        [](copy_node n) { return "copy " + std::to_string(n.parameters().width_bytes()); },
        [](host_function_node) { return std::string{"host"}; },
        [](graph_node n) { return "other " + to_string(n.kind()); }));
  }
  std::ranges::sort(seen);
  EXPECT_EQ(seen, (std::vector<std::string>{"copy 400", "fill 7", "host", "other empty"}));
  EXPECT_EQ(result_of([&] { visit(graph_node{}, [](graph_node) {}); }), errc::invalid_value);
}

// I2: a failed add leaves the graph unchanged.
TEST_F(GraphNode, InvalidDependenciesAreNamedAndAddNothing) {
  graph other;
  const empty_node a = empty();
  const empty_node theirs = other.add(empty_parameters{});
  const auto foreign = failure_of([&] { static_cast<void>(empty({a, theirs})); });
  ASSERT_TRUE(foreign);
  EXPECT_EQ(foreign->result(), errc::invalid_value);
  EXPECT_TRUE(hint_contains(foreign, to_string(other).c_str())) << foreign->what();
  EXPECT_EQ(result_of([&] {
              static_cast<void>(empty({a, graph_node{theirs.get()}}));
            }),
            errc::invalid_value)
      << "the driver finds the graph of a plain handle";
  const auto twice = failure_of([&] { static_cast<void>(empty({a, a})); });
  EXPECT_TRUE(hint_contains(twice, "twice"));
  EXPECT_EQ(result_of([&] { static_cast<void>(empty({a, graph_node{}})); }), errc::invalid_value);
  EXPECT_EQ(g.node_count(), 1u);
  EXPECT_EQ(other.node_count(), 1u);
  g.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(empty()); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(g.join({a, a})); }), errc::closed);
}

TEST_F(GraphNode, ANodeMayHaveManyDependencies) {
  std::vector<graph_node> all;
  for (int i = 0; i < 20; ++i) all.push_back(empty());
  EXPECT_EQ(empty(all).dependencies().size(), 20u);
}

// I9: joining one node returns that node.
TEST_F(GraphNode, JoinAddsAnEmptyNodeUnlessThereIsOneDependency) {
  const empty_node a = empty();
  const empty_node b = empty();
  EXPECT_EQ(g.join({a}), graph_node{a});
  EXPECT_EQ(g.node_count(), 2u);
  const graph_node both = g.join({a, b});
  EXPECT_EQ(both.kind(), node_kind::empty);
  EXPECT_EQ(both.dependencies().size(), 2u);
  EXPECT_TRUE(g.join({}).dependencies().empty());
  graph other;
  EXPECT_EQ(result_of([&] { static_cast<void>(other.join({a})); }), errc::invalid_value);
}

// I3.
TEST_F(GraphNode, DependenciesAreAddedAndRemoved) {
  const empty_node a = empty();
  const empty_node b = empty();
  const empty_node c = empty();
  g.add_dependency(a, b);
  g.add_dependencies(std::vector<graph_edge>{{a, c, {}}, {b, c, {}}});
  EXPECT_EQ(g.edges().size(), 3u);
  g.remove_dependency(a, b);
  EXPECT_EQ(b.dependencies().size(), 0u);
  g.remove_dependencies(std::vector<graph_edge>{{a, c, {}}, {b, c, {}}});
  EXPECT_TRUE(g.edges().empty());
  g.add_dependencies({});
  g.remove_dependencies({});
}

TEST_F(GraphNode, InvalidEdgesAreNamedAndChangeNothing) {
  graph other;
  const empty_node a = empty();
  const empty_node b = empty();
  const empty_node c = empty();
  const empty_node theirs = other.add(empty_parameters{});
  g.add_dependency(a, b);
  const auto adding = [&](graph_node from, graph_node to, edge_data data = {}) {
    return failure_of([&] { g.add_dependency(from, to, data); });
  };
  EXPECT_TRUE(hint_contains(adding(a, b), "already exists"));
  EXPECT_TRUE(hint_contains(adding(a, a), "itself"));
  EXPECT_TRUE(hint_contains(adding(a, theirs), "is a node of"));
  EXPECT_TRUE(hint_contains(adding(graph_node{theirs.get()}, a),
                            "does not connect two nodes of this graph"));
  EXPECT_TRUE(hint_contains(adding(b, c, {.type = 1}), "kernels"));
  EXPECT_EQ(adding(a, graph_node{})->result(), errc::invalid_value);
  const std::vector<graph_edge> twice{{b, c, {}}, {b, c, {}}};
  EXPECT_TRUE(hint_contains(failure_of([&] { g.add_dependencies(twice); }), "listed twice"));
  const std::vector<graph_edge> half{{b, c, {}}, {a, b, {}}};
  EXPECT_TRUE(hint_contains(failure_of([&] { g.add_dependencies(half); }), "already exists"));
  EXPECT_EQ(g.edges().size(), 1u);

  const auto removing = [&](graph_node from, graph_node to) {
    return failure_of([&] { g.remove_dependency(from, to); });
  };
  EXPECT_TRUE(hint_contains(removing(b, c), "does not exist"));
  EXPECT_TRUE(hint_contains(removing(b, a), "does not exist"));
  EXPECT_TRUE(hint_contains(removing(a, theirs), "is a node of"));
  const std::vector<graph_edge> same{{a, b, {}}, {a, b, {}}};
  EXPECT_TRUE(hint_contains(failure_of([&] { g.remove_dependencies(same); }), "listed twice"));
  EXPECT_EQ(g.edges().size(), 1u);
}

TEST_F(GraphNode, AnErrorNamesTheRemovedNode) {
  if (!gpu.is_embedded()) GTEST_SKIP() << "a GPU's driver may crash on a stale handle";
  const graph_node a = empty();
  g.remove(a);
  const std::function<void()> uses[] = {
      [&] { static_cast<void>(a.kind()); }, [&] { static_cast<void>(a.dependencies()); },
      [&] { static_cast<void>(a.dependents()); }, [&] { g.remove(a); }};
  for (const auto& use : uses) {
    const auto failure = failure_of(use);
    ASSERT_TRUE(hint_contains(failure, "was destroyed")) << &use - uses;
    EXPECT_EQ(failure->result(), errc::invalid_value);
    EXPECT_EQ(failure->object(), to_string(a));
  }
}

TEST_F(GraphNode, ErrorsNameTheKindOfTheNode) {
  const empty_node a = empty();
  const auto failure = failure_of([&] { static_cast<void>(empty({a, a})); });
  EXPECT_TRUE(hint_contains(failure, "an empty node: empty node"))
      << (failure ? failure->what() : "");
}

TEST_F(GraphNode, AnErrorListsTheNodesOfACycleInAChildGraph) {
  const empty_node a = empty();
  g.add_dependency(empty(a), a);
  g.tag(a, "first");
  graph outer;
  outer.add(child_graph_parameters{g});
  graph outermost;
  outermost.add(child_graph_parameters{outer});
  const auto failure = failure_of([&] { static_cast<void>(outermost.instantiate()); });
  ASSERT_TRUE(hint_contains(failure, "cycle, "));
  EXPECT_TRUE(hint_contains(failure, "\"first\" ")) << failure->what();
  EXPECT_TRUE(hint_contains(failure, " -> ")) << failure->what();
}

// A cycle can be built; the error of instantiate() lists its nodes.
TEST_F(GraphNode, AnErrorListsTheNodesOfACycle) {
  const empty_node a = empty();
  const empty_node b = empty(a);
  const empty_node c = empty(b);
  const empty_node after = empty(c);
  g.tag(b, "middle");
  g.add_dependency(c, a);
  static_cast<void>(after);
  const auto failure = failure_of([&] { static_cast<void>(g.instantiate()); });
  ASSERT_TRUE(hint_contains(failure, "cycle"));
  const std::string& text = failure->hint();
  EXPECT_NE(text.find("\"middle\""), std::string::npos) << text;
  EXPECT_EQ(text.find(to_string(graph_node{after})), std::string::npos) << text;
  const std::string way = text.substr(text.find("cycle, "));
  EXPECT_EQ(std::count(way.begin(), way.end(), '>'), 3) << text;
}

// I6: later use of the node is an error, as far as the driver detects it.
TEST_F(GraphNode, ARemovedNodeTakesItsEdgesWithIt) {
  const empty_node a = empty();
  const empty_node b = empty(a);
  const empty_node c = empty(b);
  g.remove(b);
  EXPECT_EQ(g.node_count(), 2u);
  EXPECT_TRUE(c.dependencies().empty());
  graph other;
  EXPECT_EQ(result_of([&] { other.remove(a); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { g.remove(graph_node{}); }), errc::invalid_value);
  if (!gpu.is_embedded()) return;  // a GPU's driver may crash on a removed node
  EXPECT_EQ(result_of([&] { static_cast<void>(graph_node{b}.kind()); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { g.remove(b); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { static_cast<void>(empty(b)); }), errc::invalid_value);
}

// I11: nodes may be added by hand where the driver allows it.
TEST_F(GraphNode, ANodeIsAddedToAGraphDuringItsCapture) {
  std::optional<fill_node> added;
  const graph captured = capture(s, [&](capture_scope& scope) {
    launch_host(s, [] {});
    added = scope.graph().add(fill_parameters{x, 3});
    EXPECT_EQ(result_of([&] { scope.graph().remove(*added); }), errc::illegal_state);
  });
  EXPECT_EQ(captured.node_count(), 2u);
  EXPECT_EQ(added->graph(), captured.ref());
  captured.instantiate().launch(s);
  copy(s, x, host);
  s.sync();
  EXPECT_EQ(host[0], 3);
}

TEST_F(GraphNode, HostFunctionsMayNotUseNodes) {
  const fill_node a = g.add(fill_parameters{x, 1});
  std::vector<errc> answers;
  launch_host(s, [&] {
    answers.push_back(result_of([&] { static_cast<void>(graph_node{a}.kind()); }));
    answers.push_back(result_of([&] { static_cast<void>(a.parameters()); }));
    answers.push_back(result_of([&] { a.set(fill_parameters{x, 2}); }));
    answers.push_back(result_of([&] { static_cast<void>(g.add(fill_parameters{x, 2})); }));
    answers.push_back(result_of([&] { static_cast<void>(g.add(empty_parameters{})); }));
    answers.push_back(result_of([&] { g.remove(a); }));
    answers.push_back(result_of([&] { g.add_dependency(a, a); }));
    answers.push_back(result_of([&] { g.tag(a, "a"); }));
  });
  s.sync();
  EXPECT_EQ(answers, std::vector(8, errc::not_permitted));
}

}  // namespace
}  // namespace weir
