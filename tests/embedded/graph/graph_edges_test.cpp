// SPDX-License-Identifier: Apache-2.0
// graph_edges_test.cpp - removal of nodes and edges: the remaining graph keeps its order.
#include "graph_fixture.hpp"

#include <rapidcheck/gtest.h>

#include <random>

namespace weir::embedded {
namespace {

using GraphEdges = memory_test;
using nodes = test_graph::nodes;

nodes nodes_of(const built_graph& g) {
  nodes all(g.size());
  std::size_t count = all.size();
  if (count != 0) {
    EXPECT_EQ(driver.cuGraphGetNodes(g, all.data(), &count), CUDA_SUCCESS);
  }
  return all;
}

nodes dependents_of(CUgraphNode node) {
  std::size_t count = 0;
  EXPECT_EQ(driver.cuGraphNodeGetDependentNodes_v2(node, nullptr, nullptr, &count), CUDA_SUCCESS);
  nodes all(count);
  if (count != 0) {
    EXPECT_EQ(driver.cuGraphNodeGetDependentNodes_v2(node, all.data(), nullptr, &count),
              CUDA_SUCCESS);
  }
  return all;
}

nodes dependencies_of(CUgraphNode node) {
  std::size_t count = 0;
  EXPECT_EQ(driver.cuGraphNodeGetDependencies_v2(node, nullptr, nullptr, &count), CUDA_SUCCESS);
  nodes all(count);
  if (count != 0) {
    EXPECT_EQ(driver.cuGraphNodeGetDependencies_v2(node, all.data(), nullptr, &count),
              CUDA_SUCCESS);
  }
  return all;
}

// Nodes between a common first and a common last node are removed one by one: in order of creation,
// in reverse, and at random.
TEST_F(GraphEdges, NodesAreRemovedInAnyOrder) {
  constexpr std::size_t many = 1000;
  for (int way = 0; way < 3; ++way) {
    test_graph g;
    const CUgraphNode hub = g.add_empty();
    nodes left;
    for (std::size_t i = 0; i < many; ++i) left.push_back(g.add_empty({hub}));
    const CUgraphNode end = g.add_empty(left);
    nodes gone = left;
    if (way == 1) std::ranges::reverse(gone);
    if (way == 2) std::ranges::shuffle(gone, std::mt19937{1});
    gone.resize(many - 10);
    for (const CUgraphNode node : gone) EXPECT_EQ(driver.cuGraphDestroyNode(node), CUDA_SUCCESS);
    std::erase_if(left,
                  [&](CUgraphNode node) { return std::ranges::find(gone, node) != gone.end(); });
    EXPECT_EQ(dependents_of(hub), left);
    EXPECT_EQ(dependencies_of(end), left);
    left.insert(left.begin(), hub);
    left.push_back(end);
    EXPECT_EQ(nodes_of(g), left);
  }
}

TEST_F(GraphEdges, RemovedEdgesAreAppendedWhenAddedAgain) {
  constexpr std::size_t many = 200;
  test_graph g;
  const CUgraphNode hub = g.add_empty();
  nodes behind;
  for (std::size_t i = 0; i < many; ++i) behind.push_back(g.add_empty({hub}));
  const nodes from(many, hub);
  ASSERT_EQ(driver.cuGraphRemoveDependencies_v2(g, from.data(), behind.data(), nullptr, many / 2),
            CUDA_SUCCESS);
  EXPECT_EQ(dependents_of(hub), nodes(behind.begin() + many / 2, behind.end()));
  EXPECT_EQ(driver.cuGraphRemoveDependencies_v2(g, from.data(), behind.data(), nullptr, 1),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(driver.cuGraphAddDependencies_v2(g, from.data(), behind.data(), nullptr, many / 2),
            CUDA_SUCCESS);
  std::ranges::rotate(behind, behind.begin() + many / 2);
  EXPECT_EQ(dependents_of(hub), behind);
}

TEST_F(GraphEdges, RemovedEdgesToOneNodeAreAppendedWhenAddedAgain) {
  constexpr std::size_t many = 200;
  test_graph g;
  nodes before;
  for (std::size_t i = 0; i < many; ++i) before.push_back(g.add_empty());
  const CUgraphNode end = g.add_empty(before);
  const nodes to(many, end);
  for (std::size_t i = 0; i < many / 2; ++i) {
    ASSERT_EQ(driver.cuGraphRemoveDependencies_v2(g, &before[i], &end, nullptr, 1), CUDA_SUCCESS);
  }
  EXPECT_EQ(driver.cuGraphRemoveDependencies_v2(g, before.data(), &end, nullptr, 1),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(dependencies_of(end), nodes(before.begin() + many / 2, before.end()));
  ASSERT_EQ(driver.cuGraphAddDependencies_v2(g, before.data(), to.data(), nullptr, many / 2),
            CUDA_SUCCESS);
  std::ranges::rotate(before, before.begin() + many / 2);
  EXPECT_EQ(dependencies_of(end), before);
}

// After any additions and removals, read at any time, the graph equals a plain list of nodes and
// edges.
RC_GTEST_FIXTURE_PROP(GraphEdges, AGraphListsItsRemainingNodesAndEdges, ()) {
  test_graph g;
  nodes left;
  for (int i = 0; i < 100; ++i) left.push_back(g.add_empty());
  const auto steps = *rc::gen::inRange(1, 150);
  for (int i = 0; i < steps; ++i) {
    const auto what = *rc::gen::inRange(0, 10);
    if (what == 0) left.push_back(g.add_empty());
    if (what == 1) {
      const bool same = nodes_of(g) == left;
      RC_ASSERT(same);
    }
    if (what < 2 || left.empty()) continue;
    const auto at = *rc::gen::inRange<std::size_t>(0, left.size());
    RC_ASSERT(driver.cuGraphDestroyNode(left[at]) == CUDA_SUCCESS);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
  }
  RC_ASSERT(g.size() == left.size());
  const bool same = nodes_of(g) == left;
  RC_ASSERT(same);
}

}  // namespace
}  // namespace weir::embedded
