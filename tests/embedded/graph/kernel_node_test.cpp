// SPDX-License-Identifier: Apache-2.0
// kernel_node_test.cpp - kernel nodes: adding, capturing, changing in executables, and their
// attributes.
#include "embedded/kernel/image_fixture.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace weir::embedded {
namespace {

// Loads the numbers image; its kernel `count` increments a counter, and `add` adds words to words.
class KernelNode : public memory_test {
 protected:
  void SetUp() override {
    memory_test::SetUp();
    ASSERT_EQ(driver.cuMemAlloc_v2(&words_, 64), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuMemsetD32_v2(words_, 0, 8), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuMemsetD32_v2(words_ + 32, 1, 8), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuGraphCreate(&graph_, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
    from_ = words_ + 32;
    module_.emplace();
    stream_.emplace();
  }
  void TearDown() override {
    if (exec_ != nullptr) {
      EXPECT_EQ(driver.cuGraphExecDestroy(exec_), CUDA_SUCCESS);
    }
    EXPECT_EQ(driver.cuGraphDestroy(graph_), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemFree_v2(words_), CUDA_SUCCESS);
    stream_.reset();
    module_.reset();
    memory_test::TearDown();
  }

  // to[i] += from[i] for i < n.
  CUDA_KERNEL_NODE_PARAMS add_words(std::uint32_t n) {
    count_ = n;
    params_ = {&words_, &from_, &count_};
    return {module_->function("add"), 1,       1,       1,      8, 1, 1, 0,
            params_.data(),           nullptr, nullptr, nullptr};
  }
  CUgraphNode add_node(const CUDA_KERNEL_NODE_PARAMS& params) {
    CUgraphNode made = nullptr;
    EXPECT_EQ(driver.cuGraphAddKernelNode_v2(&made, graph_, nullptr, 0, &params), CUDA_SUCCESS);
    return made;
  }
  void instantiate(unsigned long long flags = 0) {
    ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&exec_, graph_, flags), CUDA_SUCCESS);
  }
  void launch() {
    ASSERT_EQ(driver.cuGraphLaunch(exec_, *stream_), CUDA_SUCCESS);
    stream_->synchronize();
  }
  [[nodiscard]] std::uint32_t word(unsigned number) const { return words_at(words_)[number]; }

  CUdeviceptr words_ = 0;
  CUdeviceptr from_ = 0;
  std::uint32_t count_ = 0;
  std::array<void*, 3> params_{};
  CUgraph graph_ = nullptr;
  CUgraphExec exec_ = nullptr;
  std::optional<test_stream> stream_;
  std::optional<test_module> module_;
};

// kernel.node_params: a node's parameters are copied, returned, and changed.
TEST_F(KernelNode, ParametersAreCopiedReturnedAndChanged) {
  const CUgraphNode node = add_node(add_words(4));
  count_ = 77;  // the node has its own copy
  CUDA_KERNEL_NODE_PARAMS told{};
  ASSERT_EQ(driver.cuGraphKernelNodeGetParams_v2(node, &told), CUDA_SUCCESS);
  EXPECT_EQ(told.func, module_->function("add"));
  EXPECT_EQ(told.blockDimX, 8u);
  EXPECT_EQ(*static_cast<std::uint32_t*>(told.kernelParams[2]), 4u);
  CUDA_KERNEL_NODE_PARAMS other = add_words(2);
  EXPECT_EQ(driver.cuGraphKernelNodeSetParams_v2(node, &other), CUDA_SUCCESS);
  other.gridDimX = 0;
  EXPECT_EQ(driver.cuGraphKernelNodeSetParams_v2(node, &other), CUDA_ERROR_INVALID_VALUE);
  other.gridDimX = 1;
  other.blockDimX = 4096;
  EXPECT_EQ(driver.cuGraphKernelNodeSetParams_v2(node, &other), CUDA_ERROR_INVALID_VALUE);
  const CUDA_KERNEL_NODE_PARAMS none{};
  CUgraphNode made = nullptr;
  EXPECT_EQ(driver.cuGraphAddKernelNode_v2(&made, graph_, nullptr, 0, &none),
            CUDA_ERROR_INVALID_HANDLE);
  CUgraphNodeType type{};
  EXPECT_EQ(driver.cuGraphNodeGetType(node, &type), CUDA_SUCCESS);
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);
  instantiate();
  launch();
  EXPECT_EQ(word(1), 1u);
  EXPECT_EQ(word(2), 0u);
}

// kernel.capture: a captured launch becomes a node, and runs once per launch of the graph.
TEST_F(KernelNode, ACapturedLaunchBecomesAKernelNode) {
  CUDA_KERNEL_NODE_PARAMS p = add_words(8);
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(*stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuLaunchKernel(p.func, 1, 1, 1, 8, 1, 1, 0, *stream_, p.kernelParams, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuLaunchKernel(p.func, 1, 1, 1, 8, 1, 1, 0, *stream_, p.kernelParams, nullptr),
            CUDA_SUCCESS);
  CUgraph captured = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(*stream_, &captured), CUDA_SUCCESS);
  EXPECT_EQ(word(0), 0u);
  std::size_t nodes = 0;
  EXPECT_EQ(driver.cuGraphGetNodes(captured, nullptr, &nodes), CUDA_SUCCESS);
  EXPECT_EQ(nodes, 2u);
  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&exec_, captured, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(captured), CUDA_SUCCESS);
  launch();
  launch();
  EXPECT_EQ(word(7), 4u);
}

// kernel.exec_set_params: arguments, sizes and the function of a node in an executable can change;
// the node can be disabled.
TEST_F(KernelNode, ANodeIsChangedInAnExecutable) {
  const CUgraphNode node = add_node(add_words(1));
  instantiate();
  CUDA_KERNEL_NODE_PARAMS other = add_words(3);
  EXPECT_EQ(driver.cuGraphExecKernelNodeSetParams_v2(exec_, node, &other), CUDA_SUCCESS);
  launch();
  EXPECT_EQ(word(2), 1u);
  EXPECT_EQ(driver.cuGraphNodeSetEnabled(exec_, node, 0), CUDA_SUCCESS);
  launch();
  EXPECT_EQ(word(2), 1u);
  CUDA_KERNEL_NODE_PARAMS count = other;
  count.func = module_->function("count");
  count.gridDimX = 2;
  EXPECT_EQ(driver.cuGraphExecKernelNodeSetParams_v2(exec_, node, &count), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphNodeSetEnabled(exec_, node, 1), CUDA_SUCCESS);
  launch();
  EXPECT_EQ(word(2), 1u);
  EXPECT_EQ(*words_at(module_->variable("counter", 4)), 17u + 16);
}

// kernel.exec_update: an update takes another kernel or other arguments for a node.
TEST_F(KernelNode, AnUpdateChangesKernelsAndArguments) {
  add_node(add_words(1));
  instantiate();
  CUgraph other = nullptr;
  ASSERT_EQ(driver.cuGraphCreate(&other, 0), CUDA_SUCCESS);
  CUDA_KERNEL_NODE_PARAMS p = add_words(8);
  CUgraphNode made = nullptr;
  ASSERT_EQ(driver.cuGraphAddKernelNode_v2(&made, other, nullptr, 0, &p), CUDA_SUCCESS);
  CUgraphExecUpdateResultInfo update_info{};
  EXPECT_EQ(driver.cuGraphExecUpdate_v2(exec_, other, &update_info), CUDA_SUCCESS);
  launch();
  EXPECT_EQ(word(7), 1u);
  EXPECT_EQ(driver.cuGraphDestroy(other), CUDA_SUCCESS);
}

// kernel.node_attributes: attributes are set, read and copied.
TEST_F(KernelNode, AttributesAreSetAndCopied) {
  const CUgraphNode a = add_node(add_words(1));
  const CUgraphNode b = add_node(add_words(1));
  CUkernelNodeAttrValue value{};
  value.priority = 9;
  EXPECT_EQ(driver.cuGraphKernelNodeGetAttribute(a, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value),
            CUDA_SUCCESS);
  EXPECT_EQ(value.priority, 0);
  value.priority = -2;
  EXPECT_EQ(driver.cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphKernelNodeCopyAttributes(b, a), CUDA_SUCCESS);
  value = {};
  EXPECT_EQ(driver.cuGraphKernelNodeGetAttribute(b, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value),
            CUDA_SUCCESS);
  EXPECT_EQ(value.priority, -2);
  EXPECT_EQ(driver.cuGraphKernelNodeGetAttribute(a, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value),
            CUDA_SUCCESS);
  EXPECT_EQ(value.cooperative, 0);
  EXPECT_EQ(
      driver.cuGraphKernelNodeGetAttribute(a, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value),
      CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuGraphKernelNodeGetAttribute(a, static_cast<CUkernelNodeAttrID>(99), &value),
            CUDA_ERROR_INVALID_VALUE);
}

// kernel.capture_priority: a captured node has its stream's priority; an update may change the
// priority only if the executable does not use node priorities.
TEST_F(KernelNode, ACapturedNodeHasThePriorityOfItsStream) {
  CUstream urgent = nullptr;
  ASSERT_EQ(driver.cuStreamCreateWithPriority(&urgent, CU_STREAM_NON_BLOCKING, -3), CUDA_SUCCESS);
  const auto capture = [&](CUgraphNode& node) {
    CUgraph made = nullptr;
    EXPECT_EQ(driver.cuStreamBeginCapture_v2(urgent, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuLaunchKernel(module_->function("count"), 1, 1, 1, 1, 1, 1, 0, urgent,
                                    nullptr, nullptr),
              CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamEndCapture(urgent, &made), CUDA_SUCCESS);
    std::size_t one = 1;
    EXPECT_EQ(driver.cuGraphGetNodes(made, &node, &one), CUDA_SUCCESS);
    return made;
  };
  CUgraphNode node = nullptr;
  CUgraphNode other_node = nullptr;
  CUgraph graph = capture(node);
  CUgraph other = capture(other_node);
  CUkernelNodeAttrValue value{};
  EXPECT_EQ(driver.cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value),
            CUDA_SUCCESS);
  EXPECT_EQ(value.priority, -3);
  value.priority = 0;
  EXPECT_EQ(driver.cuGraphKernelNodeSetAttribute(other_node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value),
            CUDA_SUCCESS);
  for (const bool by_node : {true, false}) {
    CUgraphExec exec = nullptr;
    const unsigned long long flags =
        by_node ? 0ull + CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY : 0ull;
    ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, flags), CUDA_SUCCESS);
    CUgraphExecUpdateResultInfo update_info{};
    EXPECT_EQ(driver.cuGraphExecUpdate_v2(exec, other, &update_info),
              by_node ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE : CUDA_SUCCESS);
    EXPECT_EQ(update_info.result, by_node ? CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED
                                          : CU_GRAPH_EXEC_UPDATE_SUCCESS);
    EXPECT_EQ(driver.cuGraphExecDestroy(exec), CUDA_SUCCESS);
  }
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(other), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamDestroy_v2(urgent), CUDA_SUCCESS);
}

// Sets a cluster size of 4, or a cooperative launch, as the node's attribute.
CUresult set_cluster(CUgraphNode node, unsigned blocks) {
  CUkernelNodeAttrValue value{};
  value.clusterDim = {blocks, 1, 1};
  return driver.cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value);
}
CUresult set_cooperative(CUgraphNode node) {
  CUkernelNodeAttrValue value{};
  value.cooperative = 1;
  return driver.cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value);
}

// The pointer to a node's arguments stays valid until the arguments are replaced, whatever its
// attributes become.
TEST_F(KernelNode, ArgumentsKeepTheirAddressUntilTheyAreReplaced) {
  const CUgraphNode node = add_node(add_words(4));
  const CUgraphNode other = add_node(add_words(5));
  CUDA_KERNEL_NODE_PARAMS told{};
  ASSERT_EQ(driver.cuGraphKernelNodeGetParams_v2(node, &told), CUDA_SUCCESS);
  const auto stays = [&] {
    CUDA_KERNEL_NODE_PARAMS current_params{};
    EXPECT_EQ(driver.cuGraphKernelNodeGetParams_v2(node, &current_params), CUDA_SUCCESS);
    return current_params.kernelParams == told.kernelParams &&
           *static_cast<std::uint32_t*>(told.kernelParams[2]) == 4;
  };
  CUkernelNodeAttrValue value{};
  value.priority = -2;
  EXPECT_EQ(driver.cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value),
            CUDA_SUCCESS);
  EXPECT_TRUE(stays());
  EXPECT_EQ(set_cluster(node, 1), CUDA_SUCCESS);
  EXPECT_EQ(set_cooperative(node), CUDA_SUCCESS);
  EXPECT_TRUE(stays());
  EXPECT_EQ(driver.cuGraphKernelNodeCopyAttributes(node, other), CUDA_SUCCESS);
  EXPECT_TRUE(stays());
  // The returned arguments may also be passed back.
  told.blockDimX = 2;
  EXPECT_EQ(driver.cuGraphKernelNodeSetParams_v2(node, &told), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphDestroyNode(other), CUDA_SUCCESS);
  instantiate();
  launch();
  EXPECT_EQ(word(1), 1u);
  EXPECT_EQ(word(2), 0u);
}

// A grid that the cluster size does not divide would lose blocks.
TEST_F(KernelNode, AGridThatTheClusterDoesNotDivideIsRefused) {
  CUDA_KERNEL_NODE_PARAMS p = add_words(8);
  p.gridDimX = 8;
  const CUgraphNode node = add_node(p);
  EXPECT_EQ(set_cluster(node, 3), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(set_cluster(node, 0), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(set_cluster(node, 4), CUDA_SUCCESS);
  instantiate();
  for (const unsigned blocks : {2u, 6u}) {
    p.gridDimX = blocks;
    EXPECT_EQ(driver.cuGraphKernelNodeSetParams_v2(node, &p), CUDA_ERROR_INVALID_CLUSTER_SIZE)
        << blocks;
    EXPECT_EQ(driver.cuGraphExecKernelNodeSetParams_v2(exec_, node, &p),
              CUDA_ERROR_INVALID_CLUSTER_SIZE)
        << blocks;
    CUgraphNodeParams any{};
    any.type = CU_GRAPH_NODE_TYPE_KERNEL;
    any.kernel = p;
    EXPECT_EQ(driver.cuGraphNodeSetParams(node, &any), CUDA_ERROR_INVALID_CLUSTER_SIZE) << blocks;
    const CUgraphNode other = add_node(p);
    EXPECT_EQ(driver.cuGraphKernelNodeCopyAttributes(other, node), CUDA_ERROR_INVALID_CLUSTER_SIZE)
        << blocks;
  }
  p.gridDimX = 12;
  EXPECT_EQ(driver.cuGraphKernelNodeSetParams_v2(node, &p), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphExecKernelNodeSetParams_v2(exec_, node, &p), CUDA_SUCCESS);
  launch();
  EXPECT_EQ(word(7), 1u);
}

TEST_F(KernelNode, NodeAttributesObeyTheLimitsOfLaunches) {
  CUDA_KERNEL_NODE_PARAMS p = add_words(8);
  p.gridDimX = 64;
  const CUgraphNode node = add_node(p);
  EXPECT_EQ(set_cluster(node, 32), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  p.gridDimX = 1 << 17;
  p.gridDimY = 1 << 15;  // 2^32 blocks
  EXPECT_EQ(driver.cuGraphKernelNodeSetParams_v2(node, &p), CUDA_SUCCESS);
  EXPECT_EQ(set_cooperative(node), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  p.gridDimX = 132 * 32;
  p.gridDimY = 1;
  EXPECT_EQ(driver.cuGraphKernelNodeSetParams_v2(node, &p), CUDA_SUCCESS);
  EXPECT_EQ(set_cooperative(node), CUDA_SUCCESS);
  instantiate();
  p.gridDimX = 132 * 32 + 1;
  EXPECT_EQ(driver.cuGraphKernelNodeSetParams_v2(node, &p),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  EXPECT_EQ(driver.cuGraphExecKernelNodeSetParams_v2(exec_, node, &p),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

// A compiled-in cluster size belongs to the kernel, and is not an attribute of its node.
TEST_F(KernelNode, ACompiledClusterSizeIsNotANodeAttribute) {
  CUDA_KERNEL_NODE_PARAMS in_cluster = add_words(8);
  in_cluster.func = module_->function("in_cluster");
  in_cluster.gridDimX = 4;
  const CUgraphNode node = add_node(in_cluster);
  EXPECT_EQ(set_cluster(node, 4), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  CUDA_KERNEL_NODE_PARAMS other = add_words(8);
  EXPECT_EQ(driver.cuGraphKernelNodeSetParams_v2(node, &other), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphKernelNodeSetParams_v2(node, &in_cluster), CUDA_SUCCESS);
  in_cluster.gridDimX = 3;
  EXPECT_EQ(driver.cuGraphKernelNodeSetParams_v2(node, &in_cluster),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
}

// An executable keeps its kernels' code loaded.
TEST_F(KernelNode, AnExecutableOutlivesTheModuleOfItsKernels) {
  add_node(add_words(8));
  instantiate();
  module_.reset();
  launch();
  EXPECT_EQ(word(7), 1u);
  module_.emplace();
}

}  // namespace
}  // namespace weir::embedded
