// SPDX-License-Identifier: Apache-2.0
// graph_test.cpp - graphs: execution order, what a waiting node blocks, and what updates and
// destruction leave unchanged.
#include "graph_fixture.hpp"

#include <rapidcheck/gtest.h>

#include <array>
#include <memory>

namespace weir::embedded {
namespace {

using Graph = memory_test;

// A node waits for a value: its dependents wait, all other nodes run.
TEST_F(Graph, AWaitBlocksOnlyItsDependents) {
  test_stream s;
  test_words words{4};
  test_graph g;
  const CUgraphNode wait = g.add_wait(words.at(0));
  g.add_set(words.at(1), 1, {wait});
  g.add_set(words.at(2), 1);
  const test_exec run{g};
  run.launch(s);
  words.await(2, 1);
  EXPECT_EQ(words[1], 0u);
  EXPECT_EQ(driver.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
  words.set(0, 1);
  s.synchronize();
  EXPECT_EQ(words[1], 1u);
}

// Two nodes wait for each other's writes to memory, so neither branch may block the other.
TEST_F(Graph, BranchesThatWaitForEachOtherComplete) {
  test_stream s;
  test_words words{4};
  test_graph g;
  const CUgraphNode first = g.add_wait(words.at(0));
  g.add_set(words.at(1), 1, {first});
  const CUgraphNode second = g.add_wait(words.at(1));
  g.add_set(words.at(2), 1, {second});
  g.add_set(words.at(0), 1);
  const test_exec run{g};
  run.launch(s);
  s.synchronize();
  EXPECT_EQ(words[2], 1u);
}

// Launches of one executable run one after the other, in any streams.
TEST_F(Graph, LaunchesOfOneExecutableDoNotOverlap) {
  test_stream s;
  test_stream t;
  test_words words{2};
  counter ran;
  test_graph g;
  const CUgraphNode wait = g.add_wait(words.at(0));
  g.add_host(counter::count, &ran, {wait});
  const test_exec run{g};
  run.launch(s);
  run.launch(t);
  EXPECT_EQ(driver.cuStreamQuery(t), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(ran.calls, 0);
  words.set(0, 1);
  t.synchronize();
  EXPECT_EQ(ran.calls, 2);
}

// A launch in flight is unaffected if its executable is destroyed or changed.
TEST_F(Graph, ALaunchKeepsItsPlanAfterAnUpdate) {
  test_stream s;
  test_words words{3};
  auto g = std::make_unique<test_graph>();
  const CUgraphNode set = g->add_set(words.at(0), 1);
  const CUgraphNode more = g->add_set(words.at(1), 2, {set});
  test_exec run{*g};
  stream_gate gate{s};
  run.launch(s);
  const CUDA_MEMSET_NODE_PARAMS other{words.at(1), 0, 7, 4, 1, 1};
  EXPECT_EQ(driver.cuGraphExecMemsetNodeSetParams(run, more, &other, current_context()),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphNodeSetEnabled(run, set, 0), CUDA_SUCCESS);
  g.reset();
  run.launch(s);
  run.destroy();
  gate.open();
  s.synchronize();
  EXPECT_EQ(words[0], 1u);  // from the first launch; the node was disabled in the second
  EXPECT_EQ(words[1], 7u);
}

// The copy has more non-contiguous rows than fit into one operation of the engine. An executable
// cannot change it.
TEST_F(Graph, BoxesAreCopiedAndAreFixedInAnExecutable) {
  test_stream s;
  test_words words{64};
  for (std::size_t i = 0; i < 32; ++i) words.set(i, static_cast<std::uint32_t>(i));
  CUDA_MEMCPY3D box{};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  box.srcDevice = words.at(0);
  box.dstDevice = words.at(32);
  box.srcPitch = box.dstPitch = 16;
  box.WidthInBytes = 8;
  box.Height = 2;
  box.Depth = 1;
  test_graph g;
  CUgraphNode node = nullptr;
  ASSERT_EQ(driver.cuGraphAddMemcpyNode(&node, g, nullptr, 0, &box, current_context()),
            CUDA_SUCCESS);
  const test_exec run{g};
  stream_gate gate{s};
  run.launch(s);
  EXPECT_EQ(driver.cuGraphExecMemcpyNodeSetParams(run, node, &box, current_context()),
            CUDA_SUCCESS);
  box.srcDevice = words.at(8);
  EXPECT_EQ(driver.cuGraphExecMemcpyNodeSetParams(run, node, &box, current_context()),
            CUDA_ERROR_INVALID_VALUE);
  run.launch(s);
  gate.open();
  s.synchronize();
  const std::array expected{0u, 1u, 0u, 0u, 4u, 5u, 0u, 0u};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(words[32 + i], expected[i]) << i;
}

// Handles of destroyed graphs, nodes and executables, or of other types, are detected.
TEST_F(Graph, StaleAndForeignHandlesAreErrors) {
  CUgraph g = nullptr;
  ASSERT_EQ(driver.cuGraphCreate(&g, 0), CUDA_SUCCESS);
  CUgraphNode node = nullptr;
  ASSERT_EQ(driver.cuGraphAddEmptyNode(&node, g, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(reinterpret_cast<CUgraph>(node)), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(driver.cuGraphDestroy(g), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(g), CUDA_ERROR_INVALID_VALUE);
  CUgraphNodeType type{};
  EXPECT_EQ(driver.cuGraphNodeGetType(node, &type), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuGraphDestroyNode(node), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuGraphLaunch(reinterpret_cast<CUgraphExec>(g), nullptr),
            CUDA_ERROR_INVALID_VALUE);
}

// A graph cannot become part of itself, directly or through its own child.
TEST_F(Graph, AGraphCannotContainItself) {
  test_graph outer;
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
  CUgraphNode node = nullptr;
  params.graph.graph = outer;
  EXPECT_EQ(driver.cuGraphAddNode_v2(&node, outer, nullptr, nullptr, 0, &params),
            CUDA_ERROR_INVALID_VALUE);
  CUgraph inner = nullptr;
  ASSERT_EQ(driver.cuGraphCreate(&inner, 0), CUDA_SUCCESS);
  params.graph.graph = inner;
  ASSERT_EQ(driver.cuGraphAddNode_v2(&node, outer, nullptr, nullptr, 0, &params), CUDA_SUCCESS);
  params.graph.graph = outer;
  EXPECT_EQ(driver.cuGraphAddNode_v2(&node, inner, nullptr, nullptr, 0, &params),
            CUDA_ERROR_INVALID_VALUE);
}

// A cycle is reported, also in a child graph.
TEST_F(Graph, CyclesAreNotInstantiated) {
  test_graph inner;
  const CUgraphNode a = inner.add_empty();
  const CUgraphNode b = inner.add_empty({a});
  ASSERT_EQ(driver.cuGraphAddDependencies_v2(inner, &b, &a, nullptr, 1), CUDA_SUCCESS);
  test_graph outer;
  CUgraphNode child = nullptr;
  ASSERT_EQ(driver.cuGraphAddChildGraphNode(&child, outer, nullptr, 0, inner), CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  EXPECT_EQ(driver.cuGraphInstantiateWithParams(&exec, outer, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
  EXPECT_NE(params.hErrNode_out, nullptr);
}

// There are more branches with host functions than parallel branches of the plan. All run, each in
// its branch's order.
TEST_F(Graph, WideGraphsOfHostFunctionsRun) {
  constexpr std::size_t branches = 200;
  test_stream s;
  test_words words{branches};
  counter ran;
  test_graph g;
  test_graph::nodes ends;
  for (std::size_t i = 0; i < branches; ++i) {
    ends.push_back(g.add_set(words.at(i), 1, {g.add_host(counter::count, &ran)}));
  }
  g.add_host(counter::count, &ran, ends);
  const test_exec run{g};
  run.launch(s);
  run.launch(s);
  s.synchronize();
  EXPECT_EQ(ran.calls, 2 * static_cast<int>(branches + 1));
  for (std::size_t i = 0; i < branches; ++i) EXPECT_EQ(words[i], 1u) << i;
}

// A random graph's node; when it runs, the words of all nodes before it must be 1.
struct checked_node {
  const test_words* words;
  std::vector<std::size_t> before;
  std::atomic<bool>* violated;

  static void check(void* self) {
    const auto& me = *static_cast<const checked_node*>(self);
    for (const std::size_t i : me.before) {
      if ((*me.words)[i] != 1) *me.violated = true;
    }
  }
};

// In every launch each node runs once, after all nodes that it depends on, directly or not.
RC_GTEST_FIXTURE_PROP(Graph, RandomGraphsRunInOrder, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(1, 24);
  test_stream s;
  test_words words{2 * count};
  std::atomic<bool> violated{false};
  std::vector<std::unique_ptr<checked_node>> checks;
  std::vector<std::vector<std::size_t>> before(count);
  std::vector<CUgraphNode> nodes;
  std::vector<std::size_t> gates;
  test_graph g;
  for (std::size_t i = 0; i < count; ++i) {
    test_graph::nodes behind;
    for (std::size_t d = 0; d < i; ++d) {
      if (*rc::gen::inRange(0, 4) != 0) continue;
      behind.push_back(nodes[d]);
      before[i].push_back(d);
      before[i].insert(before[i].end(), before[d].begin(), before[d].end());
    }
    checks.push_back(std::make_unique<checked_node>(&words, before[i], &violated));
    CUgraphNode last = nullptr;
    switch (*rc::gen::inRange(0, 4)) {
      case 0: last = g.add_host(checked_node::check, checks.back().get(), behind); break;
      case 1: last = g.add_empty(behind); break;
      case 2:
        gates.push_back(count + i);
        last = g.add_wait(words.at(count + i), behind);
        break;
      default: last = g.add_empty(behind); break;
    }
    nodes.push_back(g.add_set(words.at(i), 1, {last}));
  }
  const test_exec run{g};
  for (int launch = 0; launch < 2; ++launch) {
    words.clear();
    run.launch(s);
    for (const std::size_t gate : gates) words.set(gate, 1);
    EXPECT_EQ(driver.cuStreamSynchronize(s), CUDA_SUCCESS);
    for (std::size_t i = 0; i < count; ++i) RC_ASSERT(words[i] == 1u);
    RC_ASSERT(!violated);
  }
}

}  // namespace
}  // namespace weir::embedded
