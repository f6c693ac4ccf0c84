// SPDX-License-Identifier: Apache-2.0
// handle_reuse_test.cpp - objects whose handles are given again (WEIR_EMBEDDED_HANDLES=reuse).
#include <utility>

#include "embedded/memory/memory_fixture.hpp"
#include "embedded/model/core/handle_table.hpp"

namespace weir::embedded {
namespace {

class HandleReuse : public memory_test {
 protected:
  void SetUp() override {
    memory_test::SetUp();
    before_ = std::exchange(model::configured_handle_values, model::handle_values::reused);
  }
  void TearDown() override {
    model::configured_handle_values = before_;
    memory_test::TearDown();
  }

  // Expects that an object gets the handle of one that was destroyed just before.
  template <class Handle, class Create, class Destroy>
  static void expect_reuse(const char* kind, Create create, Destroy destroy) {
    Handle first{};
    Handle second{};
    ASSERT_EQ(create(&first), CUDA_SUCCESS) << kind;
    ASSERT_EQ(destroy(first), CUDA_SUCCESS) << kind;
    ASSERT_EQ(create(&second), CUDA_SUCCESS) << kind;
    EXPECT_EQ(second, first) << kind;
    EXPECT_EQ(destroy(second), CUDA_SUCCESS) << kind;
    EXPECT_NE(destroy(second), CUDA_SUCCESS) << kind;
  }

  static CUgraph make_graph() {
    CUgraph made = nullptr;
    EXPECT_EQ(driver.cuGraphCreate(&made, 0), CUDA_SUCCESS);
    return made;
  }
  static CUgraphNode add_empty(CUgraph graph) {
    CUgraphNode made = nullptr;
    EXPECT_EQ(driver.cuGraphAddEmptyNode(&made, graph, nullptr, 0), CUDA_SUCCESS);
    return made;
  }

 private:
  model::handle_values before_{};
};

TEST_F(HandleReuse, TheNextObjectGetsTheHandleOfADestroyedOne) {
  expect_reuse<CUstream>(
      "stream", [](CUstream* out) { return driver.cuStreamCreate(out, CU_STREAM_NON_BLOCKING); },
      driver.cuStreamDestroy_v2);
  expect_reuse<CUevent>(
      "event", [](CUevent* out) { return driver.cuEventCreate(out, CU_EVENT_DISABLE_TIMING); },
      driver.cuEventDestroy_v2);
  expect_reuse<CUgraph>(
      "graph", [](CUgraph* out) { return driver.cuGraphCreate(out, 0); }, driver.cuGraphDestroy);
  const CUgraph graph = make_graph();
  expect_reuse<CUgraphNode>(
      "node",
      [graph](CUgraphNode* out) { return driver.cuGraphAddEmptyNode(out, graph, nullptr, 0); },
      driver.cuGraphDestroyNode);
  expect_reuse<CUgraphExec>(
      "executable graph",
      [graph](CUgraphExec* out) { return driver.cuGraphInstantiateWithFlags(out, graph, 0); },
      driver.cuGraphExecDestroy);
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
  expect_reuse<CUmemoryPool>(
      "pool",
      [](CUmemoryPool* out) {
        CUmemPoolProps props{};
        props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        props.location = device_0;
        return driver.cuMemPoolCreate(out, &props);
      },
      driver.cuMemPoolDestroy);
}

// A stream's handle is free when its work is complete, because the work refers to the stream.
TEST_F(HandleReuse, AStreamWithUnfinishedWorkKeepsItsHandle) {
  CUstream held = nullptr;
  ASSERT_EQ(driver.cuStreamCreate(&held, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  const stream_gate gate{held};
  ASSERT_EQ(driver.cuStreamDestroy_v2(held), CUDA_SUCCESS);
  const test_stream other;
  EXPECT_NE(static_cast<CUstream>(other), held);
}

// A destroyed copy's handle belongs to another node, which is no copy of the original.
TEST_F(HandleReuse, ANodeIsNotFoundInACloneThatNoLongerHasIt) {
  const CUgraph original = make_graph();
  const CUgraphNode node = add_empty(original);
  CUgraph clone = nullptr;
  ASSERT_EQ(driver.cuGraphClone(&clone, original), CUDA_SUCCESS);
  CUgraphNode copy = nullptr;
  ASSERT_EQ(driver.cuGraphNodeFindInClone(&copy, node, clone), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphDestroyNode(copy), CUDA_SUCCESS);
  ASSERT_EQ(add_empty(original), copy);
  CUgraphNode found = nullptr;
  EXPECT_EQ(driver.cuGraphNodeFindInClone(&found, node, clone), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuGraphDestroy(clone), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(original), CUDA_SUCCESS);
}

// Memory remembers the graphs that allocate and free it. A later graph with the same handle is
// another one.
TEST_F(HandleReuse, AGraphThatFreesMemoryIsToldFromADestroyedOne) {
  const test_stream s;
  CUgraph graph = make_graph();
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = device_0;
  params.bytesize = 64;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(driver.cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &params), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphLaunch(exec, s), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphExecDestroy(exec), CUDA_SUCCESS);
  for (int round = 0; round < 2; ++round) {
    const CUgraph destroyed = graph;
    ASSERT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
    graph = make_graph();
    ASSERT_EQ(graph, destroyed);
    EXPECT_EQ(driver.cuGraphAddMemFreeNode(&node, graph, nullptr, 0, params.dptr), CUDA_SUCCESS);
  }
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFreeAsync(params.dptr, s), CUDA_SUCCESS);
  s.synchronize();
  EXPECT_EQ(driver.cuDeviceGraphMemTrim(0), CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
