// SPDX-License-Identifier: Apache-2.0
// kernel_node_test.cpp - nodes that run kernels: GPUs only, so far.
#include <weir/device/context.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/nodes/fill_node.hpp>
#include <weir/graph/nodes/kernel_node.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <optional>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "support/errors.hpp"

namespace weir {
namespace {

using detail::driver;
using test::failure_of;
using test::result_of;

// *x = value, for one thread.
constexpr const char* store_ptx = R"(
.version 7.0
.target sm_70
.address_size 64
.visible .entry store(.param .u64 x, .param .u32 value)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [x];
  ld.param.u32 %r1, [value];
  cvta.to.global.u64 %rd2, %rd1;
  st.global.u32 [%rd2], %r1;
  ret;
}
)";

class KernelNode : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gpu.is_embedded()) GTEST_SKIP() << "the embedded driver compiles no PTX";
    const context_scope current{gpu};
    ASSERT_EQ(driver().cuModuleLoadData(&module, store_ptx), abi::CUDA_SUCCESS);
    ASSERT_EQ(driver().cuModuleGetFunction(&store, module, "store"), abi::CUDA_SUCCESS);
  }
  void TearDown() override {
    if (module == nullptr) return;
    const context_scope current{gpu};
    driver().cuModuleUnload(module);
  }
  [[nodiscard]] int launch_and_read(const graph_exec& exec) {
    exec.launch(s);
    copy(s, x, host);
    s.sync();
    return host[0];
  }

  device gpu;
  stream s{gpu};
  buffer<int> x{s, 1};
  pinned_buffer<int> host{1};
  graph g;
  abi::CUmodule module = nullptr;
  abi::CUfunction store = nullptr;
};

TEST_F(KernelNode, AKernelNodeRunsAndIsChanged) {
  int* to = x.data();
  int value = 3;
  void* arguments[] = {&to, &value};
  const kernel_node node = g.add(kernel_parameters{store, {1}, {1}, arguments});
  EXPECT_NE(g.dot().find("store"), std::string::npos) << g.dot();
  value = 9;  // the node has copied it
  const kernel_parameters told = node.parameters();
  EXPECT_EQ(told.function(), store);
  EXPECT_EQ(told.grid(), kernel_extent{1});
  EXPECT_EQ(*static_cast<int*>(told.arguments()[1]), 3);
  graph_exec exec = g.instantiate();
  EXPECT_EQ(launch_and_read(exec), 3);
  value = 4;
  exec.set(node, kernel_parameters{store, {1}, {1}, arguments});
  EXPECT_EQ(launch_and_read(exec), 4);
  value = 5;
  node.set(kernel_parameters{store, {1}, {1}, arguments});
  EXPECT_EQ(launch_and_read(g.instantiate()), 5);
  exec.disable(node);
  EXPECT_FALSE(exec.enabled(node));
  fill(s, x, 1);
  EXPECT_EQ(launch_and_read(exec), 1);
}

TEST_F(KernelNode, AttributesAreSetAndCopied) {
  int* to = x.data();
  int value = 3;
  void* arguments[] = {&to, &value};
  const kernel_node a = g.add(kernel_parameters{store, {1}, {1}, arguments});
  const kernel_node b = g.add(kernel_parameters{store, {1}, {1}, arguments}, {a});
  EXPECT_EQ(a.priority(), 0);
  a.set_priority(gpu.priorities().greatest);
  b.copy_attributes(a);
  EXPECT_EQ(b.priority(), gpu.priorities().greatest);
}

TEST_F(KernelNode, InvalidLaunchShapesAreRefused) {
  int* to = x.data();
  int value = 3;
  void* arguments[] = {&to, &value};
  const kernel_node node = g.add(kernel_parameters{store, {1}, {1}, arguments});
  EXPECT_EQ(result_of([&] {
              node.set(kernel_parameters{store, {0}, {1}, arguments});
            }),
            errc::invalid_value);
  EXPECT_EQ(result_of([&] {
              node.set(kernel_parameters{store, {1}, {4096}, arguments});
            }),
            errc::invalid_value);
  EXPECT_TRUE(failure_of([&] {
    static_cast<void>(g.add(kernel_parameters{nullptr, {1}, {1}, arguments}));
  }));
  EXPECT_EQ(g.node_count(), 1u);
}

}  // namespace
}  // namespace weir
