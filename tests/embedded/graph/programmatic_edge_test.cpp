// SPDX-License-Identifier: Apache-2.0
// programmatic_edge_test.cpp - edges between kernels that let the second kernel start before the
// first has ended.
#include "embedded/kernel/image_fixture.hpp"
#include "graph_fixture.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace weir::embedded {
namespace {

constexpr CUgraphEdgeData early{
    CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, 0, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, {}};

bool same(const CUgraphEdgeData& a, const CUgraphEdgeData& b) {
  return a.from_port == b.from_port && a.to_port == b.to_port && a.type == b.type;
}

class ProgrammaticEdge : public memory_test {
 protected:
  void SetUp() override {
    memory_test::SetUp();
    module_.emplace();
  }
  void TearDown() override {
    module_.reset();
    memory_test::TearDown();
  }

  CUDA_KERNEL_NODE_PARAMS count() {
    return {module_->function("count"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, {}, {}};
  }
  CUgraphNode add_kernel(CUgraph to) {
    const CUDA_KERNEL_NODE_PARAMS params = count();
    CUgraphNode made = nullptr;
    EXPECT_EQ(driver.cuGraphAddKernelNode_v2(&made, to, nullptr, 0, &params), CUDA_SUCCESS);
    return made;
  }
  static CUresult connect(CUgraph target_graph, CUgraphNode from, CUgraphNode to,
                          const CUgraphEdgeData& data) {
    return driver.cuGraphAddDependencies_v2(target_graph, &from, &to, &data, 1);
  }
  // Returns the data of the only edge.
  static CUgraphEdgeData only_edge(CUgraph target_graph) {
    std::array<CUgraphNode, 2> from{};
    std::array<CUgraphNode, 2> to{};
    std::array<CUgraphEdgeData, 2> data{};
    std::size_t count = 2;
    EXPECT_EQ(driver.cuGraphGetEdges_v2(target_graph, from.data(), to.data(), data.data(), &count),
              CUDA_SUCCESS);
    EXPECT_EQ(count, 1u);
    return data[0];
  }

  std::optional<test_module> module_;
};

// kernel.programmatic_edges: a call that lists such edges must also take their data.
TEST_F(ProgrammaticEdge, AnEdgeIsListedOnlyWithItsData) {
  test_graph g;
  const CUgraphNode a = add_kernel(g);
  const CUgraphNode b = add_kernel(g);
  ASSERT_EQ(connect(g, a, b, early), CUDA_SUCCESS);
  EXPECT_EQ(connect(g, a, b, {}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(same(only_edge(g), early));
  CUgraphNode other = nullptr;
  CUgraphNode another = nullptr;
  std::size_t count = 0;
  EXPECT_EQ(driver.cuGraphGetEdges_v2(g, nullptr, nullptr, nullptr, &count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(driver.cuGraphGetEdges_v2(g, &other, &another, nullptr, &count),
            CUDA_ERROR_LOSSY_QUERY);
  EXPECT_EQ(driver.cuGraphNodeGetDependencies_v2(b, &other, nullptr, &count),
            CUDA_ERROR_LOSSY_QUERY);
  EXPECT_EQ(driver.cuGraphNodeGetDependentNodes_v2(a, &other, nullptr, &count),
            CUDA_ERROR_LOSSY_QUERY);
  CUgraphEdgeData data{};
  EXPECT_EQ(driver.cuGraphNodeGetDependencies_v2(b, &other, &data, &count), CUDA_SUCCESS);
  EXPECT_EQ(other, a);
  EXPECT_TRUE(same(data, early));
  data = {};
  EXPECT_EQ(driver.cuGraphNodeGetDependentNodes_v2(a, &other, &data, &count), CUDA_SUCCESS);
  EXPECT_EQ(other, b);
  EXPECT_TRUE(same(data, early));
}

// An edge removed without its data may be added again as an ordinary edge.
TEST_F(ProgrammaticEdge, ARemovedEdgeMayReturnWithoutItsData) {
  test_graph g;
  const CUgraphNode a = add_kernel(g);
  const CUgraphNode b = add_kernel(g);
  ASSERT_EQ(connect(g, a, b, early), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphRemoveDependencies_v2(g, &a, &b, nullptr, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphRemoveDependencies_v2(g, &a, &b, &early, 1), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(connect(g, a, b, {}), CUDA_SUCCESS);
  EXPECT_TRUE(same(only_edge(g), {}));
  // Removing a node removes its edge data; the next node in the entry has none.
  EXPECT_EQ(driver.cuGraphRemoveDependencies_v2(g, &a, &b, nullptr, 1), CUDA_SUCCESS);
  ASSERT_EQ(connect(g, a, b, early), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroyNode(a), CUDA_SUCCESS);
  ASSERT_EQ(connect(g, add_kernel(g), b, {}), CUDA_SUCCESS);
  EXPECT_TRUE(same(only_edge(g), {}));
}

TEST_F(ProgrammaticEdge, AnEdgeConnectsKernelsOnly) {
  test_graph g;
  const CUgraphNode a = add_kernel(g);
  const CUgraphNode b = add_kernel(g);
  const CUgraphNode other = g.add_empty();
  EXPECT_EQ(connect(g, a, other, early), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(connect(g, other, a, early), CUDA_ERROR_INVALID_VALUE);
  for (const CUgraphEdgeData& wrong :
       {CUgraphEdgeData{3, 0, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, {}},
        CUgraphEdgeData{0, 0, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, {}}}) {
    EXPECT_EQ(connect(g, a, b, wrong), CUDA_ERROR_INVALID_VALUE);
  }
}

// A node with an invalid edge is not added; neither is a node with a duplicate dependency.
TEST_F(ProgrammaticEdge, ANodeIsAddedWithItsEdgesOrNotAtAll) {
  test_graph g;
  const CUgraphNode a = add_kernel(g);
  const CUgraphNode empty = g.add_empty();
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  params.kernel = count();
  CUgraphNode made = nullptr;
  const auto add = [&](const std::array<CUgraphNode, 2>& behind,
                       const std::array<CUgraphEdgeData, 2>& data) {
    return driver.cuGraphAddNode_v2(&made, g, behind.data(), data.data(), behind.size(), &params);
  };
  constexpr CUgraphEdgeData wrong{3, 0, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, {}};
  EXPECT_EQ(add({a, empty}, {early, early}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add({a, empty}, {wrong, CUgraphEdgeData{}}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add({a, a}, {early, early}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(made, nullptr);
  std::size_t nodes = 0;
  EXPECT_EQ(driver.cuGraphGetNodes(g, nullptr, &nodes), CUDA_SUCCESS);
  EXPECT_EQ(nodes, 2u);
  ASSERT_EQ(add({a, empty}, {early, CUgraphEdgeData{}}), CUDA_SUCCESS);
  std::array<CUgraphNode, 2> before{};
  std::array<CUgraphEdgeData, 2> data{};
  std::size_t edges = 2;
  ASSERT_EQ(driver.cuGraphNodeGetDependencies_v2(made, before.data(), data.data(), &edges),
            CUDA_SUCCESS);
  ASSERT_EQ(edges, 2u);
  EXPECT_TRUE(same(data[before[0] == a ? 0 : 1], early));
  EXPECT_TRUE(same(data[before[0] == a ? 1 : 0], {}));
  // Other node types have ordinary edges only.
  params = {};
  params.type = CU_GRAPH_NODE_TYPE_EMPTY;
  EXPECT_EQ(add({a, empty}, {early, CUgraphEdgeData{}}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add({a, empty}, {}), CUDA_SUCCESS);
}

// The embedded device starts the second kernel only after all work before it has ended. A clone
// keeps the edge.
TEST_F(ProgrammaticEdge, ACloneKeepsTheEdge) {
  test_graph g;
  const CUgraphNode a = add_kernel(g);
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  params.kernel.func = module_->function("count");
  params.kernel.gridDimX = params.kernel.gridDimY = params.kernel.gridDimZ = 1;
  params.kernel.blockDimX = params.kernel.blockDimY = params.kernel.blockDimZ = 1;
  CUgraphNode b = nullptr;
  ASSERT_EQ(driver.cuGraphAddNode_v2(&b, g, &a, &early, 1, &params), CUDA_SUCCESS);
  EXPECT_TRUE(same(only_edge(g), early));
  CUgraph copy = nullptr;
  ASSERT_EQ(driver.cuGraphClone(&copy, g), CUDA_SUCCESS);
  EXPECT_TRUE(same(only_edge(copy), early));
  CUgraphExec exec = nullptr;
  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&exec, copy, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(copy), CUDA_SUCCESS);
  const test_stream s;
  ASSERT_EQ(driver.cuGraphLaunch(exec, s), CUDA_SUCCESS);
  s.synchronize();
  EXPECT_EQ(*words_at(module_->variable("counter", 4)), 17u + 2);
  EXPECT_EQ(driver.cuGraphExecDestroy(exec), CUDA_SUCCESS);
}

// A captured launch with the programmatic attribute, behind a kernel, makes such an edge.
TEST_F(ProgrammaticEdge, ACapturedProgrammaticLaunchMakesAnEdge) {
  const test_stream s;
  const CUfunction function = module_->function("count");
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{1, 1, 1, 1, 1, 1, 0, s, &attribute, 1};
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuLaunchKernelEx(&config, function, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuLaunchKernelEx(&config, function, nullptr, nullptr), CUDA_SUCCESS);
  CUgraph captured = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(s, &captured), CUDA_SUCCESS);
  EXPECT_TRUE(same(only_edge(captured), early));
  EXPECT_EQ(driver.cuGraphDestroy(captured), CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
