// SPDX-License-Identifier: Apache-2.0
// conditional_update_test.cpp - updates of executables with conditional nodes, whole or node by
// node.
#include "conditional_fixture.hpp"

namespace weir::embedded {
namespace {

// An update changes the nodes of bodies and the values of conditions for later launches, not for
// launches in flight.
TEST_F(Conditional, AnUpdateIncludesTheBodies) {
  test_stream s;
  test_words words{4};
  const auto fill = [&](const built_graph& g, unsigned value, unsigned what) {
    const conditional outer{g, CU_GRAPH_COND_TYPE_IF, 2, value};
    for (std::size_t i = 0; i < 2; ++i) {
      const conditional inner{outer.bodies[i], CU_GRAPH_COND_TYPE_SWITCH, 3, 2};
      inner.bodies[2].add_set(words.at(i), what);
    }
  };
  test_graph g;
  fill(g, 1, 5);
  const test_exec run{g};
  test_graph other;
  fill(other, 0, 7);
  stream_gate gate{s};
  run.launch(s);
  CUgraphExecUpdateResultInfo info{};
  EXPECT_EQ(driver.cuGraphExecUpdate_v2(run, other, &info), CUDA_SUCCESS);
  run.launch(s);
  gate.open();
  s.synchronize();
  EXPECT_EQ(words[0], 5u);
  EXPECT_EQ(words[1], 7u);
}

// A node in a body, at any depth, can be changed, disabled and enabled.
TEST_F(Conditional, NodesOfBodiesChangeInPlace) {
  test_stream s;
  test_words words{2};
  test_graph g;
  const conditional outer{g, CU_GRAPH_COND_TYPE_IF, 2, 1};
  const conditional inner{outer.bodies[0], CU_GRAPH_COND_TYPE_SWITCH, 2, 1};
  const CUgraphNode outside = outer.bodies[0].add_set(words.at(0), 1);
  const CUgraphNode inside = inner.bodies[1].add_set(words.at(1), 1);
  const test_exec run{g};
  const auto launch_and_read = [&] {
    words.clear();
    run.launch(s);
    s.synchronize();
    return std::pair(words[0], words[1]);
  };
  const auto set = [&](CUgraphNode node, std::size_t word, unsigned value) {
    const CUDA_MEMSET_NODE_PARAMS params{words.at(word), 0, value, 4, 1, 1};
    return driver.cuGraphExecMemsetNodeSetParams(run, node, &params, current_context());
  };
  EXPECT_EQ(set(outside, 0, 2), CUDA_SUCCESS);
  EXPECT_EQ(set(inside, 1, 3), CUDA_SUCCESS);
  EXPECT_EQ(launch_and_read(), std::pair(2u, 3u));
  EXPECT_EQ(driver.cuGraphNodeSetEnabled(run, inside, 0), CUDA_SUCCESS);
  unsigned enabled = 1;
  EXPECT_EQ(driver.cuGraphNodeGetEnabled(run, inside, &enabled), CUDA_SUCCESS);
  EXPECT_EQ(enabled, 0u);
  EXPECT_EQ(set(inside, 1, 4), CUDA_SUCCESS);
  EXPECT_EQ(launch_and_read(), std::pair(2u, 0u));
  EXPECT_EQ(driver.cuGraphNodeSetEnabled(run, inside, 1), CUDA_SUCCESS);
  EXPECT_EQ(launch_and_read(), std::pair(2u, 4u));
  EXPECT_EQ(driver.cuGraphNodeSetEnabled(run, inner.node, 0), CUDA_ERROR_INVALID_VALUE);
  CUgraphNodeParams params = params_of(0, CU_GRAPH_COND_TYPE_SWITCH, 2);
  EXPECT_EQ(driver.cuGraphExecNodeSetParams(run, inner.node, &params), CUDA_ERROR_NOT_SUPPORTED);
}

// An update that would change the type of a conditional node or the topology of a body fails and
// changes nothing.
TEST_F(Conditional, AnUpdateKeepsTheKindOfANode) {
  test_stream s;
  test_words words{3};
  test_graph g;
  const conditional mine{g, CU_GRAPH_COND_TYPE_IF, 1, 1};
  mine.bodies[0].add_set(words.at(0), 1);
  const test_exec run{g};
  CUgraphExecUpdateResultInfo info{};
  const auto expect_refusal = [&](CUgraph other, CUgraphExecUpdateResult expected_result,
                                  CUgraphNode at) {
    EXPECT_EQ(driver.cuGraphExecUpdate_v2(run, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    EXPECT_EQ(info.result, expected_result);
    EXPECT_EQ(info.errorNode, at);
  };
  test_graph another_type;
  const conditional loop{another_type, CU_GRAPH_COND_TYPE_WHILE, 1, 0};
  loop.bodies[0].add_set(words.at(1), 1);
  expect_refusal(another_type, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, loop.node);
  test_graph more_bodies;
  const conditional two{more_bodies, CU_GRAPH_COND_TYPE_IF, 2, 1};
  two.bodies[0].add_set(words.at(1), 1);
  expect_refusal(more_bodies, CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED, two.node);
  test_graph another_body;
  const conditional host{another_body, CU_GRAPH_COND_TYPE_IF, 1, 1};
  const CUgraphNode offender = host.bodies[0].add_host([](void*) {}, nullptr);
  expect_refusal(another_body, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, offender);
  test_graph longer_body;
  const conditional longer{longer_body, CU_GRAPH_COND_TYPE_IF, 1, 1};
  longer.bodies[0].add_set(words.at(1), 1);
  longer.bodies[0].add_set(words.at(2), 1);
  EXPECT_EQ(driver.cuGraphExecUpdate_v2(run, longer_body, &info),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  run.launch(s);
  s.synchronize();
  EXPECT_EQ(words[0], 1u);
  EXPECT_EQ(words[1], 0u);
}

}  // namespace
}  // namespace weir::embedded
