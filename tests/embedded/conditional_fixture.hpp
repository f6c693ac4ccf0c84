// conditional_fixture.hpp - conditional nodes for tests, and nodes in graphs that are not the test's own: bodies.
#pragma once

#include "graph_fixture.hpp"

namespace weir::embedded {

using Conditional = memory_test;
using nodes = test_graph::nodes;

inline CUcontext current() {
  CUcontext top = nullptr;
  EXPECT_EQ(driver.cuCtxGetCurrent(&top), CUDA_SUCCESS);
  return top;
}

inline CUgraphConditionalHandle make_condition(CUgraph of, unsigned value,
                                               unsigned flags = CU_GRAPH_COND_ASSIGN_DEFAULT) {
  CUgraphConditionalHandle made = 0;
  EXPECT_EQ(driver.cuGraphConditionalHandleCreate(&made, of, current(), value, flags), CUDA_SUCCESS);
  return made;
}

inline CUgraphNodeParams params_of(CUgraphConditionalHandle condition, CUgraphConditionalNodeType type,
                                   unsigned bodies) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.handle = condition;
  params.conditional.type = type;
  params.conditional.size = bodies;
  params.conditional.ctx = current();
  return params;
}

inline CUresult try_to_add(CUgraph to, CUgraphNodeParams params) {
  CUgraphNode made = nullptr;
  return driver.cuGraphAddNode_v2(&made, to, nullptr, nullptr, 0, &params);
}

// A conditional node whose condition is assigned at each launch.
struct conditional {
  conditional(CUgraph to, CUgraphConditionalNodeType type, unsigned count, unsigned value, const nodes& behind = {})
      : conditional{to, make_condition(to, value), type, count, behind} {}
  conditional(CUgraph to, CUgraphConditionalHandle by, CUgraphConditionalNodeType type, unsigned count,
              const nodes& behind = {}) {
    CUgraphNodeParams params = params_of(by, type, count);
    EXPECT_EQ(driver.cuGraphAddNode_v2(&node, to, behind.data(), nullptr, behind.size(), &params), CUDA_SUCCESS);
    if (node != nullptr) bodies.assign(params.conditional.phGraph_out, params.conditional.phGraph_out + count);
  }

  CUgraphNode node = nullptr;
  std::vector<CUgraph> bodies;
};

inline CUgraphNode add_set(CUgraph to, CUdeviceptr word, unsigned value, const nodes& behind = {}) {
  const CUDA_MEMSET_NODE_PARAMS params{word, 0, value, 4, 1, 1};
  CUgraphNode made = nullptr;
  EXPECT_EQ(driver.cuGraphAddMemsetNode(&made, to, behind.data(), behind.size(), &params, current()), CUDA_SUCCESS);
  return made;
}

inline CUgraphNode add_copy(CUgraph to, CUdeviceptr word, CUdeviceptr from, const nodes& behind = {}) {
  CUDA_MEMCPY3D params{};
  params.srcMemoryType = params.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  params.srcDevice = from;
  params.dstDevice = word;
  params.WidthInBytes = 4;
  params.Height = params.Depth = 1;
  CUgraphNode made = nullptr;
  EXPECT_EQ(driver.cuGraphAddMemcpyNode(&made, to, behind.data(), behind.size(), &params, current()), CUDA_SUCCESS);
  return made;
}

inline CUgraphNode add_host(CUgraph to) {
  const CUDA_HOST_NODE_PARAMS params{[](void*) {}, nullptr};
  CUgraphNode made = nullptr;
  EXPECT_EQ(driver.cuGraphAddHostNode(&made, to, nullptr, 0, &params), CUDA_SUCCESS);
  return made;
}

// Gives a graph to another as a child graph, and gives its node.
inline CUgraphNode move_into(CUgraph to, CUgraph child) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph = {child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE};
  CUgraphNode made = nullptr;
  EXPECT_EQ(driver.cuGraphAddNode_v2(&made, to, nullptr, nullptr, 0, &params), CUDA_SUCCESS);
  return made;
}

inline CUgraph make_graph() {
  CUgraph made = nullptr;
  EXPECT_EQ(driver.cuGraphCreate(&made, 0), CUDA_SUCCESS);
  return made;
}

}  // namespace weir::embedded
