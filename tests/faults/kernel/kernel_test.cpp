// SPDX-License-Identifier: Apache-2.0
// kernel_test.cpp - modules, kernels and launches with failing driver calls: nothing is loaded or
// kept.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/graph/nodes/kernel_node.hpp>
#include <weir/kernel/launch.hpp>
#include <weir/kernel/module.hpp>
#include <weir/kernel/program.hpp>

#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "api/kernel/kernel_fixture.hpp"
#include "faults/every_call.hpp"

namespace weir {
namespace {

using test::driver_table;
using test::every_call_may_fail;
using test::fault_table;

class KernelFaults : public test::Kernels {
 protected:
  void SetUp() override {
    Kernels::SetUp();
    if (!IsSkipped()) image = source.image_for(gpu).bytes;
  }
  std::vector<std::byte> image;
};

TEST_F(KernelFaults, LoadingAModuleReportsEachFailedCall) {
  every_call_may_fail([&] { return module::load(gpu, image); });
  every_call_may_fail([&] { return source.compile(gpu); });
  every_call_may_fail([&] {
    module loaded = module::load(gpu, image);
    return loaded.kernel("fill");
  });
}

TEST_F(KernelFaults, LookingUpModuleSymbolsReportsEachFailedCall) {
  // Uses a name that only the source has, so the lookup goes through all kernels.
  every_call_may_fail([&] { return module::load(gpu, image).kernel("inner::seven"); });
  every_call_may_fail([&] { return code->kernel_names(); });
  every_call_may_fail([&] { return code->global<int>("counter"); });
}

TEST_F(KernelFaults, KernelQueriesReportEachFailedCall) {
  const kernel fill = code->kernel("fill");
  every_call_may_fail([&] { return fill.name(); });
  every_call_may_fail([&] { return fill.attributes(); });
  every_call_may_fail([&] { return fill.max_active_blocks(128); });
  every_call_may_fail([&] { return fill.max_cooperative_blocks(128); });
  every_call_may_fail([&] { return fill.suggest_block(); });
  every_call_may_fail([&] { return fill.available_dynamic_shared(1, 128); });
  every_call_may_fail([&] { return fill.config_for(grid(1000, 0, 64)); });
  every_call_may_fail([&] { return kernel::from_function(fill.get()); });
  every_call_may_fail([&] { fill.set_max_dynamic_shared(1000); });
  every_call_may_fail([&] { fill.set_shared_carveout(50); });
  every_call_may_fail([&] { fill.set_cache(cache_preference::l1); });
}

TEST_F(KernelFaults, LaunchingAKernelReportsEachFailedCall) {
  const kernel fill = code->kernel("fill");
  every_call_may_fail([&] { launch(s, grid(1000, 128), fill, x, 1, 1000); });
  every_call_may_fail([&] {
    launch(s, {.grid = {8}, .block = {128}, .cooperative = true, .priority = 0}, fill, x, 1, 1000);
  });
  every_call_may_fail([&] {
    buffer<int> mine{s, 1000};
    launch(s, grid(1000, 128), fill, mine, 1, 1000);
    return mine;
  });
  s.sync();
}

TEST_F(KernelFaults, LaunchingOnAnotherStreamReportsEachFailedCall) {
  const kernel fill = code->kernel("fill");
  stream other{gpu};
  every_call_may_fail([&] {
    buffer<int> mine{s, 1000};
    other.wait(s);
    launch(other, grid(1000, 128), fill, mine, 1, 1000);
    return mine;
  });
  other.sync();
}

// close() throws the error, and the module is closed nevertheless.
TEST_F(KernelFaults, AFailedCloseThrowsAndClosesTheModule) {
  module loaded = module::load(gpu, image);
  fault_table faults;
  faults.fail(&driver_table::cuModuleUnload, 1, abi::CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(test::result_of([&] { loaded.close(); }), errc::invalid_handle);
  EXPECT_TRUE(loaded.closed());
}

TEST_F(KernelFaults, AFailureInADestructorReachesTheErrorHandler) {
  drain_deferred();
  const test::unhandled_errors unhandled;
  fault_table faults;
  faults.fail(&driver_table::cuModuleUnload, 1, abi::CUDA_ERROR_INVALID_HANDLE);
  { const module loaded = module::load(gpu, image); }
  drain_deferred();
  EXPECT_EQ(unhandled.count(), 1u);
}

// A driver of CUDA 12.3 reports neither parameters nor a module's kernels. Kernels have linker
// names only, and arguments are not checked.
TEST_F(KernelFaults, KernelsWorkWithDriversThatReportNoParameters) {
  fault_table faults;
  const auto lacks = [&](auto function) {
    faults.fail_from(function, 1, abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
  };
  lacks(&driver_table::cuFuncGetParamInfo);
  lacks(&driver_table::cuModuleGetFunctionCount);
  const module loaded = module::load(gpu, image);
  const kernel fill = loaded.kernel("fill");
  launch(s, grid(1000, 128), fill, x, 5, 1000);
  launch(s, grid(0), fill, x);
  EXPECT_EQ(values_of(x)[999], 5);
  EXPECT_EQ(test::result_of([&] { static_cast<void>(fill.parameters()); }),
            errc::call_requires_newer_driver);
  const auto failure = test::failure_of([&] { static_cast<void>(loaded.kernel("inner::seven")); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::not_found);
  EXPECT_NE(failure->hint().find("12.4"), std::string::npos);
}

// The error of the node is thrown, even if the driver cannot remove the node.
TEST_F(KernelFaults, AFailureToRemoveAKernelNodeReachesTheErrorHandler) {
  const kernel fill = code->kernel("fill");
  graph g;
  const test::unhandled_errors unhandled;
  {
    fault_table faults;
    faults.fail(&driver_table::cuGraphKernelNodeSetAttribute, 1, abi::CUDA_ERROR_NOT_SUPPORTED);
    faults.fail(&driver_table::cuGraphDestroyNode, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
    const kernel_parameters with_priority{{.priority = 0}, fill, x, 1, 100};
    EXPECT_EQ(test::result_of([&] { static_cast<void>(g.add(with_priority)); }),
              errc::not_supported);
  }
  ASSERT_EQ(unhandled.errors().size(), 1u);
  EXPECT_EQ(unhandled.errors()[0].result(), errc::out_of_memory);
}

// The owner is shared and stays alive, as a driver thread destroys the graph's objects
// asynchronously.
TEST_F(KernelFaults, CapturingALaunchReportsEachFailedCall) {
  const kernel fill = code->kernel("fill");
  const auto mine = std::make_shared<buffer<int>>(s, 1000);
  every_call_may_fail(
      [&] { return capture(s, [&] { launch(s, grid(1000, 128), fill, mine, 1, 1000); }); });
}

TEST_F(KernelFaults, AddingAKernelNodeReportsEachFailedCall) {
  const kernel fill = code->kernel("fill");
  every_call_may_fail([&] {
    graph mine;
    try {
      static_cast<void>(
          mine.add(kernel_parameters{{.block = {128}, .priority = 0}, fill, x, 1, 100}));
    } catch (...) {
      EXPECT_EQ(mine.node_count(), 0u);
      throw;
    }
    return mine;
  });
}

}  // namespace
}  // namespace weir
