// SPDX-License-Identifier: Apache-2.0
// graph_memory_nodes_test.cpp - parameters of nodes that allocate and free, and invalid ones.
#include "graph_memory_fixture.hpp"

namespace weir::embedded {
namespace {

class GraphMemoryNodes : public graph_memory_test {};

TEST_F(GraphMemoryNodes, InvalidParametersAreRefused) {
  test_graph g;
  CUgraphNode node = nullptr;
  const auto add = [&](CUDA_MEM_ALLOC_NODE_PARAMS params) {
    return driver.cuGraphAddMemAllocNode(&node, g, nullptr, 0, &params);
  };
  CUmemAccessDesc peers[2] = {
      {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
      {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
  CUDA_MEM_ALLOC_NODE_PARAMS params = allocation_of(64);
  params.accessDescCount = 1;
  EXPECT_EQ(add(params), CUDA_ERROR_INVALID_VALUE);
  params.accessDescs = peers;
  params.accessDescCount = std::size_t{1} << 40;
  EXPECT_EQ(add(params), CUDA_ERROR_INVALID_VALUE);
  params.accessDescCount = 1;
  peers[0].location.id = 99;
  EXPECT_EQ(add(params), CUDA_ERROR_INVALID_DEVICE);
  peers[0].location = {CU_MEM_LOCATION_TYPE_INVALID, 0};
  EXPECT_EQ(add(params), CUDA_ERROR_INVALID_VALUE);
  peers[0].location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  for (const CUmemAccess_flags flags :
       {CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READ}) {
    peers[0].flags = flags;
    EXPECT_EQ(add(params), CUDA_ERROR_NOT_SUPPORTED);
  }
  peers[0].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_HOST, 0};
  EXPECT_EQ(add(params), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(add(allocation_of(~std::size_t{0})), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(try_add_free(g, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(try_add_free(g, ~CUdeviceptr{0}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(g.size(), 0u);

  // Valid parameters are returned unchanged.
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  EXPECT_EQ(add(params), CUDA_SUCCESS);
  CUDA_MEM_ALLOC_NODE_PARAMS told{};
  EXPECT_EQ(driver.cuGraphMemAllocNodeGetParams(node, &told), CUDA_SUCCESS);
  EXPECT_EQ(told.bytesize, 64u);
  ASSERT_EQ(told.accessDescCount, 1u);
  EXPECT_NE(told.accessDescs, peers);
  EXPECT_EQ(told.accessDescs->flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  peers[0].location = {CU_MEM_LOCATION_TYPE_HOST, 0};
  EXPECT_EQ(add(params), CUDA_SUCCESS);
  CUdeviceptr freed = 0;
  EXPECT_EQ(driver.cuGraphMemAllocNodeGetParams(node, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuGraphMemFreeNodeGetParams(node, &freed), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphMemoryNodes, AnAllocationLargerThanTheDeviceFailsAtLaunch) {
  test_stream s;
  test_graph g;
  const allocated block = add_alloc(g, device().total_memory() + 1);
  add_free(g, block.at, {block.node});
  test_exec x{g};
  EXPECT_EQ(launch(x, s), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(launch(x, s), CUDA_ERROR_OUT_OF_MEMORY);
  s.synchronize();
}

// Graph memory belongs to no context, so a memset of it must name one: in any graph, before and
// after a launch.
TEST_F(GraphMemoryNodes, AMemsetOfGraphMemoryNeedsAContext) {
  test_stream s;
  test_graph g;
  test_graph other_graph;
  const allocated block = add_alloc(g, 4096);
  const CUDA_MEMSET_NODE_PARAMS params{block.at, 0, 1, 4, 1, 1};
  const auto expect_refusal = [&](CUgraph in) {
    CUgraphNode made = nullptr;
    EXPECT_EQ(driver.cuGraphAddMemsetNode(&made, in, nullptr, 0, &params, nullptr),
              CUDA_ERROR_INVALID_VALUE);
  };
  expect_refusal(g);
  expect_refusal(other_graph);
  test_exec x{g};
  EXPECT_EQ(launch(x, s), CUDA_SUCCESS);
  expect_refusal(other_graph);
  EXPECT_EQ(free_in(s, block.at), CUDA_SUCCESS);
  s.synchronize();
}

// cuGraphAddNode adds these nodes, too.
TEST_F(GraphMemoryNodes, TheGenericCallAddsMemoryNodes) {
  test_graph g;
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  params.alloc = allocation_of(4096);
  CUgraphNode made = nullptr;
  EXPECT_EQ(driver.cuGraphAddNode_v2(&made, g, nullptr, nullptr, 0, &params), CUDA_SUCCESS);
  const CUdeviceptr address = params.alloc.dptr;
  EXPECT_NE(address, 0u);
  CUgraphNodeParams freeing{};
  freeing.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
  freeing.free.dptr = address;
  CUgraphNode freed = nullptr;
  EXPECT_EQ(driver.cuGraphAddNode_v2(&freed, g, &made, nullptr, 1, &freeing), CUDA_SUCCESS);
  CUdeviceptr told = 0;
  EXPECT_EQ(driver.cuGraphMemFreeNodeGetParams(freed, &told), CUDA_SUCCESS);
  EXPECT_EQ(told, address);
  freeing.reserved1[20] = 1;
  EXPECT_EQ(driver.cuGraphAddNode_v2(&freed, g, &made, nullptr, 1, &freeing),
            CUDA_ERROR_INVALID_VALUE);
  test_stream s;
  test_exec x{g};
  x.launch(s);
  s.synchronize();
}

}  // namespace
}  // namespace weir::embedded
