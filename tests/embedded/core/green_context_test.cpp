// SPDX-License-Identifier: Apache-2.0
// green_context_test.cpp - what green contexts share with the primary context, what they own, and
// what destroying them leaves.
#include <gtest/gtest.h>

#include "embedded/driver.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/core/thread_state.hpp"
#include "out_of_memory.hpp"

namespace weir::embedded {
using namespace abi;

namespace {

class GreenContexts : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(driver.cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuCtxSetCurrent(primary), CUDA_SUCCESS);
  }
  void TearDown() override {
    while (driver.cuDevicePrimaryCtxRelease_v2(0) == CUDA_SUCCESS) {
    }
    model::this_thread().stack.clear();
  }

  static CUgreenCtx make() {
    CUgreenCtx made = nullptr;
    EXPECT_EQ(driver.cuGreenCtxCreate(&made, nullptr, 0, CU_GREEN_CTX_DEFAULT_STREAM),
              CUDA_SUCCESS);
    return made;
  }
  static CUcontext context_of(CUgreenCtx green) {
    CUcontext context = nullptr;
    EXPECT_EQ(driver.cuCtxFromGreenCtx(&context, green), CUDA_SUCCESS);
    return context;
  }
  static CUstream stream_in(CUgreenCtx green) {
    CUstream made = nullptr;
    EXPECT_EQ(driver.cuGreenCtxStreamCreate(&made, green, CU_STREAM_NON_BLOCKING, 0), CUDA_SUCCESS);
    return made;
  }

  CUcontext primary = nullptr;
};

TEST_F(GreenContexts, AGreenContextPreventsAResetOfThePrimaryContext) {
  const CUgreenCtx green = make();
  EXPECT_EQ(driver.cuDevicePrimaryCtxReset_v2(0), CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(driver.cuGreenCtxDestroy(green), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
}

TEST_F(GreenContexts, AGreenContextHoldsThePrimaryContext) {
  const auto active = [] {
    unsigned flags = 0;
    int is = 0;
    EXPECT_EQ(driver.cuDevicePrimaryCtxGetState(0, &flags, &is), CUDA_SUCCESS);
    return is != 0;
  };
  const CUgreenCtx green = make();
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  EXPECT_TRUE(active());
  EXPECT_EQ(driver.cuGreenCtxDestroy(green), CUDA_SUCCESS);
  EXPECT_FALSE(active());
}

TEST_F(GreenContexts, OnlyTheGreenContextCallDestroysAGreenContext) {
  const CUgreenCtx green = make();
  EXPECT_EQ(driver.cuCtxDestroy_v2(context_of(green)), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(driver.cuGreenCtxDestroy(reinterpret_cast<CUgreenCtx>(primary)),
            CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(driver.cuGreenCtxDestroy(green), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGreenCtxDestroy(green), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_F(GreenContexts, MemoryAndEventsOutliveAGreenContext) {
  const CUgreenCtx green = make();
  ASSERT_EQ(driver.cuCtxSetCurrent(context_of(green)), CUDA_SUCCESS);
  CUdeviceptr memory = 0;
  CUevent event = nullptr;
  ASSERT_EQ(driver.cuMemAlloc_v2(&memory, 64), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuCtxSetCurrent(primary), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGreenCtxDestroy(green), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemsetD8_v2(memory, 1, 64), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventRecord(event, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree_v2(memory), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventDestroy_v2(event), CUDA_SUCCESS);
}

// CUDA requires the program to destroy the streams before the green context, or never.
TEST_F(GreenContexts, StreamsOfADestroyedGreenContextAreUnusable) {
  const CUgreenCtx green = make();
  const CUstream left = stream_in(green);
  ASSERT_EQ(driver.cuGreenCtxDestroy(green), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamQuery(left), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(driver.cuStreamDestroy_v2(left), CUDA_ERROR_CONTEXT_IS_DESTROYED);
}

TEST_F(GreenContexts, WorkOutlivesAGreenContextAndThePrimaryContextWaitsForIt) {
  CUdeviceptr memory = 0;
  std::uint32_t* word = nullptr;
  ASSERT_EQ(driver.cuMemAlloc_v2(&memory, 64), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemHostAlloc(reinterpret_cast<void**>(&word), 64, 0), CUDA_SUCCESS);
  *word = 0;
  const CUgreenCtx green = make();
  const CUstream s = stream_in(green);
  ASSERT_EQ(driver.cuMemsetD32Async(reinterpret_cast<CUdeviceptr>(word), 7, 1, s), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGreenCtxDestroy(green), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(*word, 7U);
  EXPECT_EQ(driver.cuMemFreeHost(word), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree_v2(memory), CUDA_SUCCESS);
}

// The expected codes are an H200's answers for handles from before a reset of the primary context.
TEST_F(GreenContexts, StreamsAndEventsFromBeforeAResetAreRecognized) {
  CUstream s = nullptr;
  CUevent e = nullptr;
  ASSERT_EQ(driver.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuEventCreate(&e, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamQuery(s), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(driver.cuStreamDestroy_v2(s), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(driver.cuEventQuery(e), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CUcontext again = nullptr;
  ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&again, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamQuery(s), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(driver.cuEventDestroy_v2(e), CUDA_ERROR_INVALID_CONTEXT);
}

// A context that failed to be created leaves no state behind for the next one that uses its entry.
TEST_F(GreenContexts, AFailedCreationLeavesNothing) {
  CUgreenCtx green = nullptr;
  int failed = 0;
  for (CUresult made = CUDA_ERROR_OUT_OF_MEMORY; made != CUDA_SUCCESS; ++failed) {
    {
      const out_of_memory after{failed};
      made = driver.cuGreenCtxCreate(&green, nullptr, 0, CU_GREEN_CTX_DEFAULT_STREAM);
    }
    if (made == CUDA_SUCCESS) break;
    ASSERT_EQ(made, CUDA_ERROR_OUT_OF_MEMORY);
    CUcontext own = nullptr;
    ASSERT_EQ(driver.cuCtxCreate_v4(&own, nullptr, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxDestroy_v2(own), CUDA_SUCCESS) << "a green one is not ended so";
  }
  EXPECT_GT(failed, 0);
  EXPECT_EQ(driver.cuGreenCtxDestroy(green), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS) << "no green one is left";
}

}  // namespace
}  // namespace weir::embedded
