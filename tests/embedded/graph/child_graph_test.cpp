// SPDX-License-Identifier: Apache-2.0
// child_graph_test.cpp - replacing the child graph of a node.
#include "graph_fixture.hpp"

namespace weir::embedded {
namespace {

using ChildGraph = memory_test;

// The node gets a clone of the new graph; existing executables keep the old one.
TEST_F(ChildGraph, AChildGraphIsReplaced) {
  test_stream s;
  test_words words{3};
  test_graph first;
  first.add_set(words.at(0), 1);
  test_graph second;
  second.add_set(words.at(2), 1, {second.add_set(words.at(1), 1)});
  test_graph outer;
  CUgraphNode node = nullptr;
  ASSERT_EQ(driver.cuGraphAddChildGraphNode(&node, outer, nullptr, 0, first), CUDA_SUCCESS);
  CUgraph old = nullptr;
  ASSERT_EQ(driver.cuGraphChildGraphNodeGetGraph(node, &old), CUDA_SUCCESS);
  const test_exec before{outer};

  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph.graph = second;
  ASSERT_EQ(driver.cuGraphNodeSetParams(node, &params), CUDA_SUCCESS);
  CUgraph current_graph = nullptr;
  ASSERT_EQ(driver.cuGraphChildGraphNodeGetGraph(node, &current_graph), CUDA_SUCCESS);
  EXPECT_NE(current_graph, static_cast<CUgraph>(second)) << "a clone";
  std::size_t count = 0;
  EXPECT_EQ(driver.cuGraphGetNodes(current_graph, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(driver.cuGraphGetNodes(old, nullptr, &count), CUDA_ERROR_INVALID_VALUE) << "ended";

  before.launch(s);
  s.synchronize();
  EXPECT_EQ(words[0] + words[2], 1u);
  const test_exec after{outer};
  words.set(0, 0);
  after.launch(s);
  s.synchronize();
  EXPECT_EQ(words[0], 0u);
  EXPECT_EQ(words[2], 1u);
}

// A graph that cannot be added as a child graph cannot replace one either, and the old one stays.
TEST_F(ChildGraph, AChildGraphIsNotReplacedByAnInvalidGraph) {
  test_words words{1};
  test_graph inner;
  inner.add_set(words.at(0), 1);
  test_graph outer;
  CUgraphNode node = nullptr;
  ASSERT_EQ(driver.cuGraphAddChildGraphNode(&node, outer, nullptr, 0, inner), CUDA_SUCCESS);
  CUgraph own = nullptr;
  ASSERT_EQ(driver.cuGraphChildGraphNodeGetGraph(node, &own), CUDA_SUCCESS);
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  EXPECT_EQ(driver.cuGraphNodeSetParams(node, &params), CUDA_ERROR_INVALID_VALUE);
  params.graph.graph = own;
  EXPECT_EQ(driver.cuGraphNodeSetParams(node, &params), CUDA_ERROR_NOT_SUPPORTED);
  params.graph.graph = inner;
  params.reserved2 = 1;
  EXPECT_EQ(driver.cuGraphNodeSetParams(node, &params), CUDA_ERROR_INVALID_VALUE);
  CUgraph still = nullptr;
  EXPECT_EQ(driver.cuGraphChildGraphNodeGetGraph(node, &still), CUDA_SUCCESS);
  EXPECT_EQ(still, own);
  // A copy of the surrounding graph can contain it.
  params.reserved2 = 0;
  params.graph.graph = outer;
  EXPECT_EQ(driver.cuGraphNodeSetParams(node, &params), CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
