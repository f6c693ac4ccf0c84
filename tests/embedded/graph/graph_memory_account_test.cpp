// SPDX-License-Identifier: Apache-2.0
// graph_memory_account_test.cpp - how much device memory graphs use, and when it is released.
#include "graph_memory_fixture.hpp"

namespace weir::embedded {
namespace {

class GraphMemoryAccount : public graph_memory_test {
 protected:
  // Fills a graph with nodes that allocate, set a word and free.
  static void fill(const test_graph& g, std::size_t bytes) {
    const allocated block = add_alloc(g, bytes);
    add_free(g, block.at, {g.add_set(block.at, 1, {block.node})});
  }
};

// Nodes and executables reserve nothing. A launch reserves whole chunks, which stay reserved until
// they are trimmed.
TEST_F(GraphMemoryAccount, LaunchesReserveMemoryAndTrimsReleaseIt) {
  const std::size_t before = free_memory();
  test_stream s;
  test_graph g;
  fill(g, chunk() / 2);
  EXPECT_EQ(free_memory(), before);
  test_exec x{g};
  EXPECT_EQ(free_memory(), before);
  for (int i = 0; i < 3; ++i) {
    x.launch(s);
    EXPECT_EQ(free_memory(), before - chunk());
    EXPECT_EQ(used(), chunk());
    EXPECT_EQ(reserved(), chunk());
  }
  s.synchronize();
  EXPECT_EQ(used(), chunk());
  trim();
  EXPECT_EQ(used(), 0u);
  EXPECT_EQ(reserved(), 0u);
  EXPECT_EQ(free_memory(), before);
  EXPECT_EQ(get(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), chunk());
  EXPECT_EQ(get(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), chunk());
  reset(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH);
  reset(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH);
  EXPECT_EQ(get(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), 0u);
  EXPECT_EQ(get(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 0u);
  x.launch(s);
  s.synchronize();
  EXPECT_EQ(used(), chunk());
  EXPECT_EQ(get(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), chunk());
}

// A trim releases neither the memory of a launch in flight nor memory that a launch left allocated.
TEST_F(GraphMemoryAccount, ATrimLeavesMemoryInUse) {
  test_stream s;
  test_graph g;
  test_graph leaving;
  fill(g, chunk() / 2);
  const allocated left = add_alloc(leaving, chunk());
  leaving.add_set(left.at, 3, {left.node});
  test_exec x{g};
  test_exec y{leaving};
  {
    stream_gate gate{s};
    x.launch(s);
    y.launch(s);
    trim();
    EXPECT_EQ(used(), 2 * chunk());
    gate.open();
  }
  s.synchronize();
  trim();
  EXPECT_EQ(used(), chunk());
  EXPECT_EQ(reserved(), chunk());
  EXPECT_EQ(read(left.at), 3u);
  EXPECT_EQ(free_in(s, left.at), CUDA_SUCCESS);
}

// A destroyed graph uses no memory, but its memory stays reserved for others.
TEST_F(GraphMemoryAccount, MemoryOfADestroyedGraphIsReservedAndNotUsed) {
  test_stream s;
  {
    test_graph g;
    fill(g, 8192);
    test_exec x{g};
    x.launch(s);
    s.synchronize();
  }
  EXPECT_EQ(used(), 0u);
  EXPECT_EQ(reserved(), chunk());
  test_graph g;
  fill(g, chunk());
  test_exec x{g};
  x.launch(s);
  EXPECT_EQ(reserved(), chunk());
}

// As on an H100, memory that a launch left and the program freed counts until a trim, also if the
// graph was destroyed before the free.
TEST_F(GraphMemoryAccount, FreedMemoryCountsAsUsedUntilATrim) {
  test_stream s;
  CUdeviceptr left = 0;
  {
    test_graph g;
    left = add_alloc(g, 1024).at;
    test_exec x{g};
    x.launch(s);
    s.synchronize();
  }
  EXPECT_EQ(free_in(s, left), CUDA_SUCCESS);
  s.synchronize();
  EXPECT_EQ(used(), chunk());
  trim();
  EXPECT_EQ(used(), 0u);
}

TEST_F(GraphMemoryAccount, ALaunchWithoutMemoryFailsAndCanBeRepeated) {
  test_stream s;
  test_graph g;
  const allocated block = add_alloc(g, chunk() + 1);
  test_words word{1};
  g.add_set(word.at(0), 1, {block.node});
  test_exec x{g};
  leave(2 * chunk() - 1);
  EXPECT_EQ(launch(x, s), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(launch(x, s), CUDA_ERROR_OUT_OF_MEMORY);
  s.synchronize();
  EXPECT_EQ(word[0], 0u);
  EXPECT_EQ(used(), 0u);
  EXPECT_EQ(free_in(s, block.at), CUDA_ERROR_INVALID_VALUE);
  leave(2 * chunk());
  EXPECT_EQ(launch(x, s), CUDA_SUCCESS);
  EXPECT_EQ(free_in(s, block.at), CUDA_SUCCESS);
  s.synchronize();
  EXPECT_EQ(word[0], 1u);
}

// A launch reuses memory that its own stream has finished with, but not another stream's.
TEST_F(GraphMemoryAccount, GraphsOfOneStreamShareMemory) {
  test_words word{2};
  test_stream s;
  test_stream t;
  test_graph a;
  test_graph b;
  const auto fill_all = [&](const test_graph& g, unsigned value) {
    const allocated block = add_alloc(g, chunk());
    const CUgraphNode set = g.add_set(block.at + chunk() - 4, value, {block.node});
    add_free(g, block.at, {g.add_copy(word.at(value - 1), block.at + chunk() - 4, 4, {set})});
  };
  fill_all(a, 1);
  fill_all(b, 2);
  test_exec x{a};
  test_exec y{b};
  leave(chunk());
  {
    stream_gate gate{s};
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(launch(x, s), CUDA_SUCCESS);
      EXPECT_EQ(launch(y, t), CUDA_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(launch(y, s), CUDA_SUCCESS);
    }
    EXPECT_EQ(used(), chunk());
    gate.open();
  }
  s.synchronize();
  EXPECT_EQ(word[0], 1u);
  EXPECT_EQ(word[1], 2u);
  EXPECT_EQ(launch(y, t), CUDA_SUCCESS);
  t.synchronize();
  EXPECT_EQ(launch(x, s), CUDA_SUCCESS);
}

// Memory may get two new owners before a stream reaches the first one. The pages of work in flight
// are not released.
TEST_F(GraphMemoryAccount, PagesAreReleasedAfterTheWorkOfTheirLastUser) {
  test_words word{2};
  test_stream s;
  test_stream t;
  CUevent first_is_through = nullptr;
  CUevent is_set = nullptr;
  ASSERT_EQ(driver.cuEventCreate(&first_is_through, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuEventCreate(&is_set, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  test_graph a;
  const allocated block = add_alloc(a, chunk());
  CUgraphNode set = a.add_set(block.at, 7, {block.node});
  ASSERT_EQ(driver.cuGraphAddEventRecordNode(&set, a, &set, 1, is_set), CUDA_SUCCESS);
  add_free(a, block.at, {a.add_copy(word.at(1), block.at, 4, {a.add_wait(word.at(0), {set})})});
  test_graph b;
  test_graph c;
  fill(b, chunk());
  fill(c, chunk());
  test_exec x{a};
  test_exec y{b};
  test_exec z{c};
  leave(chunk());
  {
    stream_gate before{s};
    x.launch(s);
    EXPECT_EQ(driver.cuEventRecord(first_is_through, s), CUDA_SUCCESS);
    stream_gate between{s};
    y.launch(s);  // gets the memory of x
    leave(chunk());
    stream_gate later{t};
    x.launch(t);
    z.launch(t);  // likewise

    word.set(0, 1);
    before.open();
    EXPECT_EQ(driver.cuEventSynchronize(first_is_through), CUDA_SUCCESS);
    EXPECT_EQ(word[1], 7u);
    word.clear();
    later.open();
    EXPECT_EQ(driver.cuEventSynchronize(is_set), CUDA_SUCCESS);
    between.open();
    s.synchronize();
    word.set(0, 1);
    t.synchronize();
    EXPECT_EQ(word[1], 7u);
  }
  EXPECT_EQ(driver.cuEventDestroy_v2(first_is_through), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventDestroy_v2(is_set), CUDA_SUCCESS);
}

// Idle memory of graphs is available to any other allocation, and idle memory of pools to graphs.
TEST_F(GraphMemoryAccount, IdleGraphMemoryIsReleasedWhenTheDeviceIsFull) {
  test_stream s;
  test_graph g;
  fill(g, chunk());
  test_exec x{g};
  leave(chunk());
  x.launch(s);
  s.synchronize();
  CUdeviceptr p = 0;
  EXPECT_EQ(driver.cuMemAlloc_v2(&p, chunk()), CUDA_SUCCESS);
  EXPECT_EQ(launch(x, s), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver.cuMemFree_v2(p), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemAllocAsync(&p, 1, s), CUDA_SUCCESS);
  EXPECT_EQ(launch(x, s), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(free_in(s, p), CUDA_SUCCESS);
  EXPECT_EQ(launch(x, s), CUDA_SUCCESS);
  s.synchronize();
}

// Auto-free on launch frees the memory and allocates it again at the same address.
TEST_F(GraphMemoryAccount, AutoFreeOnLaunchFreesTheMemory) {
  test_stream s;
  test_graph g;
  const allocated block = add_alloc(g, 64);
  CUgraphExec x = nullptr;
  ASSERT_EQ(
      driver.cuGraphInstantiateWithFlags(&x, g, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH),
      CUDA_SUCCESS);
  unsigned long long id = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(launch(x, s), CUDA_SUCCESS);
    unsigned long long now = 0;
    EXPECT_EQ(driver.cuPointerGetAttribute(&now, CU_POINTER_ATTRIBUTE_BUFFER_ID, block.at),
              CUDA_SUCCESS);
    EXPECT_NE(now, id);
    id = now;
  }
  EXPECT_EQ(used(), chunk());
  // The program has to free the last allocation, as after any launch.
  EXPECT_EQ(driver.cuGraphExecDestroy(x), CUDA_SUCCESS);
  EXPECT_EQ(free_in(s, block.at), CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
