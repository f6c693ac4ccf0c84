// SPDX-License-Identifier: Apache-2.0
// launch_test.cpp - cuLaunchKernel and its other forms, with kernels of a module.
#include "image_fixture.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace weir::embedded {
namespace {

using Launch = memory_test;

// Device memory that holds words.
class words {
 public:
  explicit words(std::size_t count) : count_{count} {
    EXPECT_EQ(driver.cuMemAlloc_v2(&address_, count * 4), CUDA_SUCCESS);
  }
  ~words() { EXPECT_EQ(driver.cuMemFree_v2(address_), CUDA_SUCCESS); }
  words(const words&) = delete;
  words& operator=(const words&) = delete;

  [[nodiscard]] CUdeviceptr address() const { return address_; }
  void put(const std::vector<std::uint32_t>& values) const {
    EXPECT_EQ(driver.cuMemcpyHtoD_v2(address_, values.data(), count_ * 4), CUDA_SUCCESS);
  }
  [[nodiscard]] std::vector<std::uint32_t> get() const {
    std::vector<std::uint32_t> values(count_);
    EXPECT_EQ(driver.cuMemcpyDtoH_v2(values.data(), address_, count_ * 4), CUDA_SUCCESS);
    return values;
  }

 private:
  CUdeviceptr address_ = 0;
  std::size_t count_;
};

CUresult launch(CUfunction f, unsigned grid, unsigned block, void** params,
                CUstream stream = nullptr, void** extra = nullptr) {
  return driver.cuLaunchKernel(f, grid, 1, 1, block, 1, 1, 0, stream, params, extra);
}

// kernel.launch: arguments as pointers, and in one buffer.
TEST_F(Launch, ALaunchTakesBothFormsOfArguments) {
  const test_module m;
  const words to{1000};
  const words from{1000};
  to.put(std::vector<std::uint32_t>(1000, 1));
  from.put(std::vector<std::uint32_t>(1000, 5));
  struct {
    CUdeviceptr to, from;
    std::uint32_t count;
  } values{to.address(), from.address(), 999};
  std::array<void*, 3> params{&values.to, &values.from, &values.count};
  EXPECT_EQ(launch(m.function("add"), 4, 256, params.data()), CUDA_SUCCESS);
  std::size_t bytes = 20;
  std::array<void*, 5> extra{CU_LAUNCH_PARAM_BUFFER_POINTER, &values, CU_LAUNCH_PARAM_BUFFER_SIZE,
                             &bytes, CU_LAUNCH_PARAM_END};
  EXPECT_EQ(launch(m.function("add"), 4, 256, nullptr, nullptr, extra.data()), CUDA_SUCCESS);
  std::vector<std::uint32_t> expected(1000, 11);
  expected[999] = 1;
  EXPECT_EQ(to.get(), expected);
  EXPECT_EQ(launch(m.function("add"), 4, 256, params.data(), nullptr, extra.data()),
            CUDA_ERROR_INVALID_VALUE);
  bytes = 0;
  EXPECT_EQ(launch(m.function("add"), 4, 256, nullptr, nullptr, extra.data()),
            CUDA_ERROR_INVALID_VALUE);
  bytes = 24;  // more than the kernel takes
  EXPECT_EQ(launch(m.function("add"), 4, 256, nullptr, nullptr, extra.data()),
            CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  bytes = 16;  // less: the count, which comes last, is 0
  EXPECT_EQ(launch(m.function("add"), 4, 256, nullptr, nullptr, extra.data()), CUDA_SUCCESS);
  EXPECT_EQ(to.get(), expected);
  EXPECT_EQ(launch(m.function("add"), 4, 256, nullptr), CUDA_ERROR_INVALID_VALUE);
}

// Threads that wait for each other, with static shared memory.
TEST_F(Launch, KernelsWithBarriersRun) {
  const test_module m;
  const words values{256 * 3};
  std::vector<std::uint32_t> before(256 * 3);
  for (std::uint32_t i = 0; i < before.size(); ++i) before[i] = i;
  values.put(before);
  CUdeviceptr address = values.address();
  std::array<void*, 1> params{&address};
  ASSERT_EQ(launch(m.function("reverse"), 3, 256, params.data()), CUDA_SUCCESS);
  const std::vector<std::uint32_t> after = values.get();
  for (std::uint32_t i = 0; i < after.size(); ++i)
    EXPECT_EQ(after[i], i / 256 * 256 + 255 - i % 256);
}

// kernel.launch_errors: launches above the device limits fail.
TEST_F(Launch, LaunchesAboveTheDeviceLimitsAreRefused) {
  const test_module m;
  const CUfunction count = m.function("count");
  const auto with = [&](unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared) {
    return driver.cuLaunchKernel(count, gx, gy, gz, bx, by, bz, shared, nullptr, nullptr, nullptr);
  };
  EXPECT_EQ(launch(nullptr, 1, 1, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(with(0, 1, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(1, 1, 1, 0, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(1, 1, 1, 2048, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(1, 1, 1, 64, 32, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(1, 1, 1, 1, 1, 128, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(1, 70000, 1, 1, 1, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(1, 1, 1, 1, 1, 1, 1 << 20), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with(1, 1, 1, 1, 1, 1, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
}

// More than 48 KiB of shared memory needs an attribute.
TEST_F(Launch, LargeSharedMemoryNeedsAnAttribute) {
  const test_module m;
  const CUfunction count = m.function("count");
  const auto with = [&](unsigned shared) {
    return driver.cuLaunchKernel(count, 1, 1, 1, 1, 1, 1, shared, nullptr, nullptr, nullptr);
  };
  EXPECT_EQ(with(48 * 1024), CUDA_SUCCESS);
  EXPECT_EQ(with(48 * 1024 + 1), CUDA_ERROR_INVALID_VALUE);
}

// Launches with one attribute.
CUresult launch_with(CUfunction f, unsigned grid, CUlaunchAttribute* attributes, unsigned count,
                     CUstream stream = nullptr) {
  const CUlaunchConfig config{grid, 1, 1, 32, 1, 1, 0, stream, attributes, count};
  return driver.cuLaunchKernelEx(&config, f, nullptr, nullptr);
}

TEST_F(Launch, ALaunchTakesAttributes) {
  const test_module m;
  const CUfunction count = m.function("count");
  CUlaunchAttribute one{};
  EXPECT_EQ(launch_with(count, 1, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(launch_with(count, 1, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuLaunchKernelEx(nullptr, count, nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
  for (const CUlaunchAttributeID id : {CU_LAUNCH_ATTRIBUTE_IGNORE, CU_LAUNCH_ATTRIBUTE_PRIORITY,
                                       CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION}) {
    one.id = id;
    EXPECT_EQ(launch_with(count, 1, &one, 1), CUDA_SUCCESS) << static_cast<int>(id);
  }
  one.id = static_cast<CUlaunchAttributeID>(99);
  EXPECT_EQ(launch_with(count, 1, &one, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
}

// An event of a launch completes with the kernel.
TEST_F(Launch, ALaunchRecordsItsEvents) {
  const test_module m;
  const test_stream s;
  CUevent done = nullptr;
  ASSERT_EQ(driver.cuEventCreate(&done, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  stream_gate gate{s};
  CUlaunchAttribute one{};
  one.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
  one.value.launchCompletionEvent.event = done;
  EXPECT_EQ(launch_with(m.function("count"), 1, &one, 1, s), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventQuery(done), CUDA_ERROR_NOT_READY);
  gate.open();
  EXPECT_EQ(driver.cuEventSynchronize(done), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventDestroy_v2(done), CUDA_SUCCESS);
}

// An event of a captured launch stands for the node of the kernel.
TEST_F(Launch, ACapturedLaunchRecordsItsEvents) {
  const test_module m;
  const test_stream s;
  const test_stream t;
  CUevent event = nullptr;
  ASSERT_EQ(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  CUlaunchAttribute started{};
  started.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
  started.value.launchCompletionEvent.event = event;
  CUlaunchAttribute done{};
  done.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
  done.value.programmaticEvent.event = event;
  for (CUlaunchAttribute* const attribute : {&started, &done}) {
    ASSERT_EQ(driver.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    EXPECT_EQ(launch_with(m.function("count"), 1, attribute, 1, s), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamWaitEvent(t, event, 0), CUDA_SUCCESS);
    EXPECT_EQ(launch_with(m.function("count"), 1, nullptr, 0, t), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuEventRecord(event, t), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamWaitEvent(s, event, 0), CUDA_SUCCESS);
    CUgraph graph = nullptr;
    EXPECT_EQ(driver.cuStreamEndCapture(s, &graph), CUDA_SUCCESS);
    std::size_t edges = 0;
    EXPECT_EQ(driver.cuGraphGetEdges_v2(graph, nullptr, nullptr, nullptr, &edges), CUDA_SUCCESS);
    EXPECT_EQ(edges, 1u);
    EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
  }
  EXPECT_EQ(driver.cuEventDestroy_v2(event), CUDA_SUCCESS);
}

// An event of another context makes the launch fail without any effect.
TEST_F(Launch, ALaunchRefusesEventsOfAnotherContext) {
  const test_module m;
  const test_stream s;
  CUcontext other = nullptr;
  CUevent its = nullptr;
  ASSERT_EQ(driver.cuCtxCreate_v4(&other, nullptr, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuEventCreate(&its, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  CUlaunchAttribute started{};
  started.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
  started.value.launchCompletionEvent.event = its;
  EXPECT_EQ(launch_with(m.function("count"), 1, &started, 1, s), CUDA_ERROR_INVALID_HANDLE);
  CUlaunchAttribute done{};
  done.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
  done.value.programmaticEvent.event = its;
  EXPECT_EQ(launch_with(m.function("count"), 1, &done, 1, s), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(driver.cuEventDestroy_v2(its), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxDestroy_v2(other), CUDA_SUCCESS);
  s.synchronize();
  EXPECT_EQ(*words_at(m.variable("counter", 4)), 17u);
}

// A cooperative launch is limited to the blocks that 132 multiprocessors run concurrently.
TEST_F(Launch, ACooperativeLaunchIsLimitedToResidentBlocks) {
  const test_module m;
  const auto with = [&](unsigned blocks, unsigned threads) {
    return driver.cuLaunchCooperativeKernel(m.function("count"), blocks, 1, 1, threads, 1, 1, 0,
                                            nullptr, nullptr);
  };
  EXPECT_EQ(with(132 * 2, 1024), CUDA_SUCCESS);
  EXPECT_EQ(with(132 * 2 + 1, 1024), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  EXPECT_EQ(with(132 * 32, 32), CUDA_SUCCESS);
  EXPECT_EQ(with(132 * 32 + 1, 32), CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
}

// The cluster size must divide the grid, and is at most 8 blocks.
TEST_F(Launch, ClusterSizesAreChecked) {
  const test_module m;
  CUlaunchAttribute one{};
  one.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  const auto with = [&](const char* name, unsigned grid, unsigned cluster) {
    one.value.clusterDim = {cluster, 1, 1};
    return launch_with(m.function(name), grid, &one, 1);
  };
  EXPECT_EQ(with("count", 8, 4), CUDA_SUCCESS);
  EXPECT_EQ(with("count", 8, 3), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(with("count", 32, 16), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(with("in_cluster", 8, 4),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);  // compiled for clusters of 2
  EXPECT_EQ(launch(m.function("in_cluster"), 8, 1, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(launch(m.function("in_cluster"), 7, 1, nullptr), CUDA_ERROR_INVALID_CLUSTER_SIZE);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
}

// kernel.fifo: launches of a stream run in order, with the work between them.
TEST_F(Launch, LaunchesKeepTheOrderOfTheStream) {
  const test_module m;
  const test_stream s;
  const words to{4};
  const words from{4};
  from.put({1, 1, 1, 1});
  CUdeviceptr to_address = to.address();
  CUdeviceptr from_address = from.address();
  std::uint32_t count = 4;
  std::array<void*, 3> params{&to_address, &from_address, &count};
  for (std::uint32_t i = 0; i < 50; ++i) {
    ASSERT_EQ(driver.cuMemsetD32Async(to.address(), i, 4, s), CUDA_SUCCESS);
    ASSERT_EQ(launch(m.function("add"), 1, 32, params.data(), s), CUDA_SUCCESS);
  }
  s.synchronize();
  EXPECT_THAT(to.get(), testing::Each(50u));
}

// kernel.function_of_other_context: the function's context must be the stream's; the current
// context does not matter.
TEST_F(Launch, AFunctionMustBelongToTheContextOfTheStream) {
  const test_module m;
  const test_stream s;
  const CUfunction count = m.function("count");
  CUcontext other = nullptr;
  ASSERT_EQ(driver.cuCtxCreate_v4(&other, nullptr, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(launch(count, 1, 1, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(launch(count, 1, 1, nullptr, s), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxDestroy_v2(other), CUDA_SUCCESS);
  s.synchronize();
}

TEST_F(Launch, UnloadingAModuleWaitsForItsLaunches) {
  test_module m;
  const test_stream s;
  const pinned_block cell{4};
  const CUdeviceptr counter = m.variable("counter", 4);
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(launch(m.function("count"), 10, 32, nullptr, s), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemcpyDtoHAsync_v2(cell.get(), counter, 4, s), CUDA_SUCCESS);
  m.unload();
  EXPECT_EQ(*static_cast<std::uint32_t*>(cell.get()), 17u + 32000);
}

// A launch is captured, or refused, or runs: another thread may end the capture meanwhile.
TEST_F(Launch, ALaunchMayMeetTheEndOfACapture) {
  constexpr int captures = 20'000;
  const test_module m;
  const CUfunction count = m.function("count");
  CUstream stream = nullptr;
  ASSERT_EQ(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  std::atomic<bool> is_over{false};
  std::thread capturing{[&] {
    for (int i = 0; i < captures; ++i) {
      CUgraph graph = nullptr;
      EXPECT_EQ(driver.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
                CUDA_SUCCESS);
      EXPECT_EQ(driver.cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
    }
    is_over = true;
  }};
  while (!is_over) {
    const CUresult answer = launch(count, 1, 1, nullptr, stream);
    EXPECT_TRUE(answer == CUDA_SUCCESS || answer == CUDA_ERROR_ILLEGAL_STATE) << answer;
  }
  capturing.join();
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamDestroy_v2(stream), CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
