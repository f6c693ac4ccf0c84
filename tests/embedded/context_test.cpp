// context_test.cpp - the lives of contexts, the stacks of threads, and what a context is told.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <initializer_list>
#include <thread>
#include <vector>

#include "embedded/model/process.hpp"
#include "embedded/model/thread_state.hpp"
#include "memory_fixture.hpp"

namespace weir::embedded {
namespace {

class Context : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(driver.cuInit(0), CUDA_SUCCESS); }
  void TearDown() override {
    while (driver.cuDevicePrimaryCtxRelease_v2(0) == CUDA_SUCCESS) {
    }
    EXPECT_EQ(driver.cuDevicePrimaryCtxSetFlags_v2(0, 0), CUDA_SUCCESS);
    model::this_thread().stack.clear();
  }

  static CUcontext make(unsigned flags = 0) {
    CUcontext made = nullptr;
    EXPECT_EQ(driver.cuCtxCreate_v4(&made, nullptr, flags, 0), CUDA_SUCCESS);
    return made;
  }
  static CUcontext retain() {
    CUcontext primary = nullptr;
    EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    return primary;
  }
  static CUcontext current() {
    CUcontext top = nullptr;
    EXPECT_EQ(driver.cuCtxGetCurrent(&top), CUDA_SUCCESS);
    return top;
  }
  static bool active() {
    unsigned flags = 0;
    int is_active = 0;
    EXPECT_EQ(driver.cuDevicePrimaryCtxGetState(0, &flags, &is_active), CUDA_SUCCESS);
    return is_active != 0;
  }
  static unsigned flags() {
    unsigned value = 99;
    EXPECT_EQ(driver.cuCtxGetFlags(&value), CUDA_SUCCESS);
    return value;
  }
  static std::size_t limit(CUlimit which) {
    std::size_t value = 99;
    EXPECT_EQ(driver.cuCtxGetLimit(&value, which), CUDA_SUCCESS);
    return value;
  }
};

// A reset takes the context from its users and leaves them counted.
TEST_F(Context, AResetPrimaryContextKeepsItsUsers) {
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

TEST_F(Context, AUserMayReleaseWhatWasReset) {
  retain();
  EXPECT_EQ(driver.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(Context, EachLifeOfThePrimaryContextHasAnIdOfItsOwn) {
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

// What a reset ended is gone for the thread that had it, and comes back new.
TEST_F(Context, AResetEndsStreamsEventsAndTheThreadsDefaultStream) {
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

// The last user's release waits for work. What that work waits for may need the context: it is not kept from it, and who has
// come to use the context has it.
TEST_F(Context, ARetainDoesNotWaitForARelease) {
  ASSERT_EQ(driver.cuCtxSetCurrent(retain()), CUDA_SUCCESS);
  {
    const test_stream stream;
    held gate{stream};
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

// The end of a thread and the end of a context both close the thread's default stream, whichever comes first.
TEST_F(Context, OutlivesTheDefaultStreamsOfItsThreads) {
  const CUcontext primary = retain();
  const auto streams = [] {
    int count = 0;
    model::this_process().streams.for_each([&](const model::stream&) { ++count; });
    return count;
  };
  const int before = streams();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([primary] {
      for (int round = 0; round < 50; ++round) {
        std::thread{[primary] {
          EXPECT_EQ(driver.cuCtxSetCurrent(primary), CUDA_SUCCESS);
          EXPECT_EQ(driver.cuStreamSynchronize(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
        }}.join();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(streams(), before);
}

// Whoever uses a context that another thread resets is refused, or finds the next one; nothing breaks. What such a
// program reads of streams that are gone is old or new (handle_table.hpp), which the thread sanitizer cannot know.
TEST_F(Context, MayBeResetUnderItsUsers) {
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
        if (!expect_one_of(driver.cuStreamCreate(&stream, 0), {CUDA_SUCCESS, CUDA_ERROR_CONTEXT_IS_DESTROYED}))
          continue;
        if (!expect_one_of(driver.cuEventCreate(&event, 0), {CUDA_SUCCESS, CUDA_ERROR_CONTEXT_IS_DESTROYED})) continue;
        const auto gone = {CUDA_SUCCESS, CUDA_ERROR_CONTEXT_IS_DESTROYED, CUDA_ERROR_INVALID_CONTEXT,
                           CUDA_ERROR_INVALID_HANDLE};  // the last: at the very moment of the reset
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

// Of several places in the stack only the top goes.
TEST_F(Context, LeavesTheStackOnlyAtItsTop) {
  const CUcontext a = make();
  const CUcontext b = make();
  ASSERT_EQ(driver.cuCtxPushCurrent_v2(a), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxDestroy_v2(a), CUDA_SUCCESS);
  EXPECT_EQ(current(), b);
  CUcontext popped = nullptr;
  EXPECT_EQ(driver.cuCtxPopCurrent_v2(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, b);
  EXPECT_EQ(current(), a);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(driver.cuCtxPopCurrent_v2(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, a);
  EXPECT_EQ(driver.cuCtxPopCurrent_v2(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(driver.cuCtxDestroy_v2(b), CUDA_SUCCESS);
}

// One thread destroys it; the others are told that it is destroyed.
TEST_F(Context, IsDestroyedOnce) {
  const CUcontext made = make();
  std::atomic<int> destroyed{0};
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const CUresult result = driver.cuCtxDestroy_v2(made);
      if (result == CUDA_SUCCESS) ++destroyed;
      if (result == CUDA_ERROR_CONTEXT_IS_DESTROYED) ++refused;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(destroyed, 1);
  EXPECT_EQ(refused, 7);
}

// What is no context is found out, not followed.
TEST_F(Context, KnowsAForeignHandle) {
  int place = 0;
  for (const auto bits : {reinterpret_cast<std::uintptr_t>(&place), std::uintptr_t{1}, ~std::uintptr_t{0}}) {
    const auto foreign = reinterpret_cast<CUcontext>(bits);
    unsigned version = 0;
    EXPECT_EQ(driver.cuCtxPushCurrent_v2(foreign), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(driver.cuCtxSetCurrent(foreign), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(driver.cuCtxDestroy_v2(foreign), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(driver.cuCtxSynchronize_v2(foreign), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(driver.cuCtxGetApiVersion(foreign, &version), CUDA_ERROR_INVALID_CONTEXT);
  }
}

TEST_F(Context, KeepsTheFlagsThatAreDecidedWhenItIsMade) {
  const CUcontext plain = make();
  EXPECT_EQ(driver.cuCtxSetFlags(CU_CTX_MAP_HOST | CU_CTX_SCHED_SPIN), CUDA_SUCCESS);
  EXPECT_EQ(flags(), 1U);
  EXPECT_EQ(driver.cuCtxSetFlags(CU_CTX_SYNC_MEMOPS), CUDA_SUCCESS);
  EXPECT_EQ(flags(), 0x80U);
  EXPECT_EQ(driver.cuCtxSetFlags(0x100), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuCtxSetFlags(5), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(flags(), 0x80U);
  const CUcontext mapping = make(CU_CTX_MAP_HOST | CU_CTX_SCHED_SPIN);
  EXPECT_EQ(flags(), 9U);
  EXPECT_EQ(driver.cuCtxSetFlags(CU_CTX_SCHED_YIELD), CUDA_SUCCESS);
  EXPECT_EQ(flags(), 10U);
  EXPECT_EQ(driver.cuCtxDestroy_v2(mapping), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxDestroy_v2(plain), CUDA_SUCCESS);
}

// The primary context always maps host memory, so its flags are not told to.
TEST_F(Context, ThePrimaryOneTakesNoMapHost) {
  EXPECT_EQ(driver.cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_MAP_HOST), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SYNC_MEMOPS), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuCtxSetCurrent(retain()), CUDA_SUCCESS);
  EXPECT_EQ(flags(), 0x88U);
  EXPECT_EQ(driver.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(flags(), 0U);
}

// As an H200 rounds, clamps and refuses.
TEST_F(Context, RoundsItsLimits) {
  const CUcontext made = make();
  const struct {
    CUlimit which;
    std::size_t asked;
    CUresult result;
    std::size_t then;
  } steps[] = {
      {CU_LIMIT_STACK_SIZE, 100, CUDA_SUCCESS, 112},
      {CU_LIMIT_STACK_SIZE, 1'000'000, CUDA_ERROR_INVALID_VALUE, 112},
      {CU_LIMIT_PRINTF_FIFO_SIZE, 1, CUDA_SUCCESS, 524'288},
      {CU_LIMIT_PRINTF_FIFO_SIZE, 1'000'000, CUDA_SUCCESS, 1'000'192},
      {CU_LIMIT_PRINTF_FIFO_SIZE, std::size_t{1} << 40, CUDA_SUCCESS, std::size_t{1} << 31},
      {CU_LIMIT_MALLOC_HEAP_SIZE, 0, CUDA_SUCCESS, 4'194'304},
      {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 3, CUDA_SUCCESS, 32},
      {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 100, CUDA_SUCCESS, 100},
      {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 4096, CUDA_ERROR_INVALID_VALUE, 100},
      {CU_LIMIT_SHMEM_SIZE, 0, CUDA_ERROR_NOT_PERMITTED, 232'448},
  };
  for (const auto& step : steps) {
    EXPECT_EQ(driver.cuCtxSetLimit(step.which, step.asked), step.result) << step.which << ' ' << step.asked;
    EXPECT_EQ(limit(step.which), step.then) << step.which << ' ' << step.asked;
  }
  EXPECT_EQ(driver.cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2), CUDA_ERROR_UNSUPPORTED_LIMIT);
  EXPECT_EQ(driver.cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuCtxDestroy_v2(made), CUDA_SUCCESS);
}

TEST_F(Context, StartsWithTheLimitsOfANewOne) {
  ASSERT_EQ(driver.cuCtxSetCurrent(retain()), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  retain();
  CUfunc_cache config = CU_FUNC_CACHE_PREFER_L1;
  EXPECT_EQ(driver.cuCtxGetCacheConfig(&config), CUDA_SUCCESS);
  EXPECT_EQ(config, CU_FUNC_CACHE_PREFER_NONE);
  EXPECT_EQ(limit(CU_LIMIT_STACK_SIZE), 1024U);
}

TEST_F(Context, RefusesWhatNoEmbeddedDeviceCanDo) {
  CUcontext made = nullptr;
  CUexecAffinityParam affinity{CU_EXEC_AFFINITY_TYPE_SM_COUNT, {{1}}};
  CUctxCigParam graphics{CIG_DATA_TYPE_NV_BLOB, nullptr};
  CUctxCreateParams confined{&affinity, 1, nullptr};
  CUctxCreateParams shared{nullptr, 0, &graphics};
  CUctxCreateParams plain{nullptr, 0, nullptr};
  EXPECT_EQ(driver.cuCtxCreate_v4(&made, &confined, 0, 0), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
  EXPECT_EQ(driver.cuCtxCreate_v4(&made, &shared, 0, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(made, nullptr);
  EXPECT_EQ(driver.cuCtxCreate_v4(&made, &plain, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxDestroy_v2(made), CUDA_SUCCESS);
}

// A thread_local object's destructor may still call the driver.
struct late_caller {
  ~late_caller() { *result = driver.cuCtxGetCurrent(&top); }
  CUcontext top = nullptr;
  CUresult* result = nullptr;
};

TEST_F(Context, IsStillCurrentWhenAThreadEnds) {
  const CUcontext primary = retain();
  CUresult result = CUDA_ERROR_UNKNOWN;
  std::thread{[&] {
    thread_local late_caller last;  // made before the thread's first call
    last.result = &result;
    EXPECT_EQ(driver.cuCtxSetCurrent(primary), CUDA_SUCCESS);
  }}.join();
  EXPECT_EQ(result, CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
