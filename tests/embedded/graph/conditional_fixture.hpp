// SPDX-License-Identifier: Apache-2.0
// conditional_fixture.hpp - conditional nodes for tests.
#pragma once

#include "graph_fixture.hpp"

namespace weir::embedded {

using Conditional = memory_test;
using nodes = built_graph::nodes;

inline CUgraphConditionalHandle make_condition(CUgraph of, unsigned value,
                                               unsigned flags = CU_GRAPH_COND_ASSIGN_DEFAULT) {
  CUgraphConditionalHandle made = 0;
  EXPECT_EQ(driver.cuGraphConditionalHandleCreate(&made, of, current_context(), value, flags),
            CUDA_SUCCESS);
  return made;
}

inline CUgraphNodeParams params_of(CUgraphConditionalHandle condition,
                                   CUgraphConditionalNodeType type, unsigned bodies) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.handle = condition;
  params.conditional.type = type;
  params.conditional.size = bodies;
  params.conditional.ctx = current_context();
  return params;
}

inline CUresult try_to_add(CUgraph to, CUgraphNodeParams params) {
  CUgraphNode made = nullptr;
  return driver.cuGraphAddNode_v2(&made, to, nullptr, nullptr, 0, &params);
}

// A conditional node whose condition is assigned at each launch.
struct conditional {
  conditional(CUgraph to, CUgraphConditionalNodeType type, unsigned count, unsigned value,
              const nodes& behind = {})
      : conditional{to, make_condition(to, value), type, count, behind} {}
  conditional(CUgraph to, CUgraphConditionalHandle condition_handle,
              CUgraphConditionalNodeType type, unsigned count, const nodes& behind = {}) {
    CUgraphNodeParams params = params_of(condition_handle, type, count);
    EXPECT_EQ(driver.cuGraphAddNode_v2(&node, to, behind.data(), nullptr, behind.size(), &params),
              CUDA_SUCCESS);
    if (node == nullptr) return;
    for (unsigned i = 0; i < count; ++i) bodies.emplace_back(params.conditional.phGraph_out[i]);
  }

  CUgraphNode node = nullptr;
  std::vector<built_graph> bodies;
};

// Moves a graph into another as a child graph. Returns the new node.
inline CUgraphNode move_into(CUgraph to, CUgraph child) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph = {child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE};
  CUgraphNode made = nullptr;
  EXPECT_EQ(driver.cuGraphAddNode_v2(&made, to, nullptr, nullptr, 0, &params), CUDA_SUCCESS);
  return made;
}

// Returns a graph that can be moved into another.
inline built_graph make_graph() { return built_graph{test_graph::make()}; }

}  // namespace weir::embedded
