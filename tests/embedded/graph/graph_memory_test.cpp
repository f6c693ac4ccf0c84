// SPDX-License-Identifier: Apache-2.0
// graph_memory_test.cpp - memory that graphs allocate: address, lifetime, and who may use and free
// it.
#include "graph_memory_fixture.hpp"

#include <array>
#include <memory>

namespace weir::embedded {
namespace {

class GraphMemory : public graph_memory_test {};

// A later node reuses memory that an earlier node freed; a node that may run concurrently does not.
TEST_F(GraphMemory, ANodeReusesFreedMemory) {
  test_graph g;
  const allocated a = add_alloc(g, 8 * kilo);
  const CUgraphNode freed = add_free(g, a.at, {a.node});
  const CUgraphNode between = g.add_empty({freed});
  const allocated beside = add_alloc(g, 8 * kilo, {a.node});
  const allocated larger = add_alloc(g, 16 * kilo, {between});
  const allocated again = add_alloc(g, 4 * kilo, {between});
  EXPECT_NE(beside.at, a.at);
  EXPECT_NE(larger.at, a.at);
  EXPECT_EQ(again.at, a.at);
  // The memory has one owner at a time, and can be freed again.
  EXPECT_NE(add_alloc(g, kilo, {between}).at, a.at);
  add_free(g, a.at, {again.node});
  EXPECT_EQ(try_add_free(g, a.at, {again.node}), CUDA_ERROR_INVALID_VALUE);
}

// Memory that a launch leaves allocated outlives the graph, the executable and the stream, even
// with its writes still pending.
TEST_F(GraphMemory, MemoryOutlivesItsGraphExecutableAndStream) {
  enum part { of_graph, of_exec, of_stream };
  std::array<part, 3> order{of_graph, of_exec, of_stream};
  do {
    auto s = std::make_unique<test_stream>();
    auto g = std::make_unique<test_graph>();
    const allocated block = add_alloc(*g, 64 * kilo);
    g->add_set(block.at, 7, {block.node});
    auto x = std::make_unique<test_exec>(*g);
    {
      stream_gate gate{*s};
      x->launch(*s);
      for (const part each : order) {
        if (each == of_graph) g.reset();
        if (each == of_exec) x.reset();
        if (each == of_stream) s.reset();
      }
      gate.open();
    }
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(read(block.at), 7u);
    EXPECT_EQ(driver.cuMemFree_v2(block.at), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemFree_v2(block.at), CUDA_ERROR_INVALID_VALUE);
  } while (std::ranges::next_permutation(order).found);
}

// Before the launch and after the free, only graphs accept the address as memory.
TEST_F(GraphMemory, SetsAndCopiesRefuseFreedMemory) {
  test_stream s;
  test_words word{1};
  test_graph g;
  const allocated block = add_alloc(g, 4 * kilo);
  const auto refused = [&](CUresult expected) {
    CUdeviceptr base = 0;
    EXPECT_EQ(driver.cuMemsetD32Async(block.at, 1, 1, s), expected);
    EXPECT_EQ(driver.cuMemsetD8_v2(block.at + 512, 1, 4),
              expected);  // synchronous: fails at another place than queued work
    EXPECT_EQ(driver.cuMemcpyDtoHAsync_v2(words_at(word.at(0)), block.at, 4, s), expected);
    EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(block.at, words_at(word.at(0)), 4, s), expected);
    EXPECT_EQ(driver.cuMemcpyDtoD_v2(block.at + 576, block.at + 512, 4), expected);
    EXPECT_EQ(driver.cuMemGetAddressRange_v2(&base, nullptr, block.at) == CUDA_SUCCESS,
              expected == CUDA_SUCCESS);
    s.synchronize();
  };
  refused(CUDA_ERROR_INVALID_VALUE);
  test_graph user;  // another graph may still refer to it
  user.add_set(block.at + 4, 3);
  CUgraphNode none = nullptr;
  const CUDA_MEMSET_NODE_PARAMS beyond{block.at, 0, 1, 4, kilo + 1, 1};
  EXPECT_EQ(driver.cuGraphAddMemsetNode(&none, user, nullptr, 0, &beyond, current_context()),
            CUDA_ERROR_INVALID_VALUE);
  test_exec x{g};
  test_exec y{user};
  x.launch(s);
  refused(CUDA_SUCCESS);
  y.launch(s);
  s.synchronize();
  EXPECT_EQ(read(block.at + 4), 3u);
  EXPECT_EQ(driver.cuMemsetD32_v2(block.at, 1, kilo + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_in(s, block.at + 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_in(s, block.at), CUDA_SUCCESS);
  refused(CUDA_ERROR_INVALID_VALUE);
}

// A capture may use memory that it allocates, and its nodes report it as device memory.
TEST_F(GraphMemory, CapturesUseMemoryThatTheyAllocate) {
  test_stream s;
  test_words word{2};
  CUdeviceptr p = 0;
  EXPECT_EQ(driver.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemAllocAsync(&p, 4 * kilo, s), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemsetD2D32Async(p, 64, 9, 2, 8, s), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemcpyDtoDAsync_v2(p + kilo, p, 512, s), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemcpyDtoHAsync_v2(words_at(word.at(0)), p + kilo + 448, 8, s), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFreeAsync(p + 4, s), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemFreeAsync(p, s), CUDA_SUCCESS);
  CUgraph made = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(s, &made), CUDA_SUCCESS);
  test_graph g{made};
  EXPECT_EQ(g.edges(), "0>1 1>2 2>3 3>4");
  test_graph::nodes all(5);
  std::size_t count = all.size();
  EXPECT_EQ(driver.cuGraphGetNodes(g, all.data(), &count), CUDA_SUCCESS);
  CUDA_MEMCPY3D copy{};
  EXPECT_EQ(driver.cuGraphMemcpyNodeGetParams(all[2], &copy), CUDA_SUCCESS);
  EXPECT_EQ(copy.srcMemoryType, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(copy.srcDevice, p);
  EXPECT_EQ(copy.dstMemoryType, CU_MEMORYTYPE_DEVICE);
  test_exec x{g};
  x.launch(s);
  s.synchronize();
  EXPECT_EQ(word[0], 9u);
  EXPECT_EQ(word[1], 9u);
}

TEST_F(GraphMemory, ACaptureFreesMemoryOfAnotherGraph) {
  test_stream s;
  test_graph g;
  const allocated block = add_alloc(g, kilo);
  test_exec x{g};
  EXPECT_EQ(driver.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFreeAsync(block.at, s), CUDA_SUCCESS);
  CUgraph made = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(s, &made), CUDA_SUCCESS);
  {
    test_graph freeing{made};
    test_exec y{freeing};
    EXPECT_EQ(launch(y, s), CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(launch(x, s), CUDA_SUCCESS);
      EXPECT_EQ(launch(x, s), CUDA_ERROR_INVALID_VALUE);
      EXPECT_EQ(launch(y, s), CUDA_SUCCESS);
      EXPECT_EQ(launch(y, s), CUDA_ERROR_INVALID_VALUE);
    }
    EXPECT_EQ(try_add_free(g, block.at, {block.node}), CUDA_ERROR_INVALID_VALUE);
  }
  // The graph was instantiated without a node that frees the memory: only other graphs may free it.
  EXPECT_EQ(try_add_free(g, block.at, {block.node}), CUDA_ERROR_INVALID_VALUE);
  const test_graph another;
  add_free(another, block.at);
}

// An updated executable uses the memory of the new graph, and becomes that graph's only executable.
TEST_F(GraphMemory, AnUpdateChangesTheMemory) {
  test_stream s;
  test_graph a;
  test_graph b;
  const allocated in_a = add_alloc(a, kilo);
  a.add_set(in_a.at, 1, {in_a.node});
  const allocated in_b = add_alloc(b, kilo);
  b.add_set(in_b.at, 2, {in_b.node});
  test_exec x{a};
  CUgraphExecUpdateResultInfo result{};
  EXPECT_EQ(driver.cuGraphExecUpdate_v2(x, a, &result), CUDA_SUCCESS);
  {
    test_exec other{b};
    EXPECT_EQ(driver.cuGraphExecUpdate_v2(x, b, &result), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(result.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  }
  EXPECT_EQ(driver.cuGraphExecUpdate_v2(x, b, &result), CUDA_SUCCESS);
  CUgraphExec none = nullptr;
  EXPECT_EQ(driver.cuGraphInstantiateWithFlags(&none, b, 0), CUDA_ERROR_NOT_SUPPORTED);
  test_exec again{a};
  x.launch(s);
  again.launch(s);
  s.synchronize();
  EXPECT_EQ(read(in_a.at), 1u);
  EXPECT_EQ(read(in_b.at), 2u);
  EXPECT_EQ(free_in(s, in_a.at), CUDA_SUCCESS);
  EXPECT_EQ(free_in(s, in_b.at), CUDA_SUCCESS);
}

// A child graph's restrictions apply to the whole graph.
TEST_F(GraphMemory, TheWholeGraphUsesTheMemoryOfAChild) {
  test_stream s;
  test_graph parent;
  CUgraph child = nullptr;
  ASSERT_EQ(driver.cuGraphCreate(&child, 0), CUDA_SUCCESS);
  const allocated block = add_alloc(child, kilo);
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph.graph = child;
  params.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
  CUgraphNode node = nullptr;
  ASSERT_EQ(driver.cuGraphAddNode_v2(&node, parent, nullptr, nullptr, 0, &params), CUDA_SUCCESS);
  parent.add_set(block.at, 4, {node});
  CUgraph copy = nullptr;
  EXPECT_EQ(driver.cuGraphClone(&copy, parent), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(driver.cuGraphDestroyNode(node), CUDA_ERROR_NOT_SUPPORTED);
  test_exec x{parent};
  CUgraphExec second = nullptr;
  EXPECT_EQ(driver.cuGraphInstantiateWithFlags(&second, parent, 0), CUDA_ERROR_NOT_SUPPORTED);
  x.launch(s);
  s.synchronize();
  EXPECT_EQ(read(block.at), 4u);
  EXPECT_EQ(launch(x, s), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_in(s, block.at), CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
