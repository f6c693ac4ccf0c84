// SPDX-License-Identifier: Apache-2.0
// primary_context_test.cpp - primary contexts: retain counts, resets, and what their users have
// afterwards.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <initializer_list>
#include <thread>
#include <vector>

#include "context_fixture.hpp"

namespace weir::embedded {
namespace {

class PrimaryContext : public context_test {};

// A reset destroys the context but keeps the retain count.
TEST_F(PrimaryContext, AResetPrimaryContextKeepsItsUsers) {
  const CUcontext first = retain();
  retain();
  EXPECT_EQ(driver.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_FALSE(active());
  EXPECT_EQ(driver.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(retain(), first);
  for (int users = 2; users >= 0; --users) {
    EXPECT_TRUE(active());
    EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  }
  EXPECT_FALSE(active());
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(PrimaryContext, AUserMayReleaseAResetContext) {
  retain();
  EXPECT_EQ(driver.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(PrimaryContext, EachActivationOfThePrimaryContextHasItsOwnId) {
  const CUcontext primary = retain();
  unsigned long long first = 0;
  unsigned long long second = 0;
  EXPECT_EQ(driver.cuCtxGetId(primary, &first), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxGetId(primary, &second), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  retain();
  EXPECT_EQ(driver.cuCtxGetId(primary, &second), CUDA_SUCCESS);
  EXPECT_NE(first, second);
}

// A reset destroys the thread's streams, events and default stream; the default stream is created
// again on next use.
TEST_F(PrimaryContext, AResetEndsStreamsEventsAndTheThreadsDefaultStream) {
  const CUcontext primary = retain();
  ASSERT_EQ(driver.cuCtxSetCurrent(primary), CUDA_SUCCESS);
  CUstream stream = nullptr;
  CUevent event = nullptr;
  unsigned long long before = 0;
  unsigned long long after = 0;
  ASSERT_EQ(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuStreamGetId(CU_STREAM_PER_THREAD, &before), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamGetId(CU_STREAM_PER_THREAD, &after), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  retain();
  EXPECT_EQ(driver.cuStreamQuery(stream), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(driver.cuEventQuery(event), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_EQ(driver.cuStreamGetId(CU_STREAM_PER_THREAD, &after), CUDA_SUCCESS);
  EXPECT_NE(before, after);
}

// The last release waits for pending work, which may itself need the context. A retain does not
// block during that wait, and gets the context.
TEST_F(PrimaryContext, ARetainDoesNotWaitForARelease) {
  ASSERT_EQ(driver.cuCtxSetCurrent(retain()), CUDA_SUCCESS);
  {
    const test_stream stream;
    stream_gate gate{stream};
    std::thread releasing{[] { EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS); }};
    auto others = std::async(std::launch::async, [] {
      for (int i = 0; i < 10'000; ++i) {
        EXPECT_EQ(driver.cuDevicePrimaryCtxSetFlags_v2(0, 0), CUDA_SUCCESS);
        std::this_thread::yield();
      }
      retain();
    });
    EXPECT_EQ(others.wait_for(std::chrono::minutes{1}), std::future_status::ready);
    gate.open();
    releasing.join();
    others.get();
    EXPECT_TRUE(active());
  }
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  EXPECT_FALSE(active());
}

// A call that races with a reset fails, or uses the next activation. Reads of destroyed streams see
// old or new values (handle_table.hpp), which the thread sanitizer reports as a race.
TEST_F(PrimaryContext, AContextMayBeResetWhileThreadsUseIt) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a race of the program's own";
#endif
  const CUcontext primary = retain();
  std::atomic<bool> over{false};
  std::atomic<int> surprises{0};
  const auto expect_one_of = [&](CUresult result, std::initializer_list<CUresult> accepted) {
    if (std::find(accepted.begin(), accepted.end(), result) == accepted.end()) ++surprises;
    return result == CUDA_SUCCESS;
  };
  std::vector<std::thread> users;
  for (int i = 0; i < 3; ++i) {
    users.emplace_back([&] {
      expect_one_of(driver.cuCtxSetCurrent(primary), {CUDA_SUCCESS});
      while (!over) {
        CUstream stream = nullptr;
        CUevent event = nullptr;
        if (!expect_one_of(driver.cuStreamCreate(&stream, 0),
                           {CUDA_SUCCESS, CUDA_ERROR_CONTEXT_IS_DESTROYED}))
          continue;
        if (!expect_one_of(driver.cuEventCreate(&event, 0),
                           {CUDA_SUCCESS, CUDA_ERROR_CONTEXT_IS_DESTROYED}))
          continue;
        const auto gone = {CUDA_SUCCESS, CUDA_ERROR_CONTEXT_IS_DESTROYED,
                           CUDA_ERROR_INVALID_CONTEXT,
                           CUDA_ERROR_INVALID_HANDLE};  // the last: at the moment of the reset
        expect_one_of(driver.cuEventRecord(event, stream), gone);
        expect_one_of(driver.cuStreamWaitEvent(CU_STREAM_PER_THREAD, event, 0), gone);
        expect_one_of(driver.cuStreamSynchronize(CU_STREAM_LEGACY), gone);
        expect_one_of(driver.cuEventDestroy_v2(event), gone);
        expect_one_of(driver.cuStreamDestroy_v2(stream), gone);
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(driver.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
    retain();
  }
  over = true;
  for (std::thread& user : users) user.join();
  EXPECT_EQ(surprises, 0);
}

// The primary context always maps host memory, so the flag cannot be set.
TEST_F(PrimaryContext, ThePrimaryContextRefusesTheMapHostFlag) {
  EXPECT_EQ(driver.cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_MAP_HOST), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SYNC_MEMOPS), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuCtxSetCurrent(retain()), CUDA_SUCCESS);
  EXPECT_EQ(flags(), 0x88U);
  EXPECT_EQ(driver.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(flags(), 0U);
}

}  // namespace
}  // namespace weir::embedded
