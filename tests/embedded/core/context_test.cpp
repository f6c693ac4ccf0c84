// SPDX-License-Identifier: Apache-2.0
// context_test.cpp - lifetime of contexts, the context stack of a thread, and context attributes.
#include <atomic>
#include <thread>
#include <vector>

#include "context_fixture.hpp"
#include "embedded/model/core/process.hpp"

namespace weir::embedded {
namespace {

class Context : public context_test {};

// A thread_local object's destructor may still call the driver.
struct late_caller {
  ~late_caller() { *result = driver.cuCtxGetCurrent(&top); }
  CUcontext top = nullptr;
  CUresult* result = nullptr;
};

// A thread that destroys a stream or an event after its context has destroyed it must not destroy
// it twice: the freed entry would be handed out to two owners.
TEST_F(Context, AContextEndsObjectsThatALateThreadDestroys) {
  model::process& p = model::this_process();
  ASSERT_EQ(driver.cuCtxSetCurrent(retain()), CUDA_SUCCESS);
  CUstream s = nullptr;
  CUevent e = nullptr;
  ASSERT_EQ(driver.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING),
            CUDA_SUCCESS);
  model::stream& found_stream = *p.streams.find(s);
  model::event& found_event = *p.events.find(e);
  ASSERT_EQ(driver.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
  EXPECT_EQ(model::stream::destroy(found_stream, s), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(model::event::destroy(found_event, e), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(p.streams.find(s), &found_stream);
  EXPECT_EQ(p.events.find(e), &found_event);
  engine::timeline& one = engine::timeline::acquire();
  engine::timeline& other = engine::timeline::acquire();
  EXPECT_NE(&one, &other);
  one.release_when_drained();
  other.release_when_drained();
}

// A thread's default stream is closed once, by the end of the thread or of the context, whichever
// comes first.
TEST_F(Context, AContextAndItsThreadsCloseADefaultStreamOnce) {
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

// Destroying a context pops it only if it is on top of the calling thread's stack.
TEST_F(Context, ADestroyedContextIsRemovedOnlyFromTheTopOfTheStack) {
  const CUcontext a = make();
  const CUcontext b = make();
  ASSERT_EQ(driver.cuCtxPushCurrent_v2(a), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxDestroy_v2(a), CUDA_SUCCESS);
  EXPECT_EQ(current_context(), b);
  CUcontext popped = nullptr;
  EXPECT_EQ(driver.cuCtxPopCurrent_v2(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, b);
  EXPECT_EQ(current_context(), a);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(driver.cuCtxPopCurrent_v2(&popped), CUDA_SUCCESS);
  EXPECT_EQ(popped, a);
  EXPECT_EQ(driver.cuCtxPopCurrent_v2(nullptr), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(driver.cuCtxDestroy_v2(b), CUDA_SUCCESS);
}

// A single thread destroys the context; the others get CUDA_ERROR_CONTEXT_IS_DESTROYED.
TEST_F(Context, AContextIsDestroyedOnce) {
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

// A handle that is not a context is detected without being dereferenced.
TEST_F(Context, AForeignHandleIsAnInvalidContext) {
  int place = 0;
  for (const auto bits :
       {reinterpret_cast<std::uintptr_t>(&place), std::uintptr_t{1}, ~std::uintptr_t{0}}) {
    const auto foreign = reinterpret_cast<CUcontext>(bits);
    unsigned version = 0;
    EXPECT_EQ(driver.cuCtxPushCurrent_v2(foreign), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(driver.cuCtxSetCurrent(foreign), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(driver.cuCtxDestroy_v2(foreign), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(driver.cuCtxSynchronize_v2(foreign), CUDA_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(driver.cuCtxGetApiVersion(foreign, &version), CUDA_ERROR_INVALID_CONTEXT);
  }
}

TEST_F(Context, AContextKeepsTheFlagsSetAtCreation) {
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

// The driver of an H200 rounds, clamps and refuses these values in this way.
TEST_F(Context, LimitsAreRoundedAndClamped) {
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
    EXPECT_EQ(driver.cuCtxSetLimit(step.which, step.asked), step.result)
        << step.which << ' ' << step.asked;
    EXPECT_EQ(limit(step.which), step.then) << step.which << ' ' << step.asked;
  }
  EXPECT_EQ(driver.cuCtxSetLimit(CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2), CUDA_ERROR_UNSUPPORTED_LIMIT);
  EXPECT_EQ(driver.cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuCtxDestroy_v2(made), CUDA_SUCCESS);
}

TEST_F(Context, AResetContextHasDefaultLimits) {
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

TEST_F(Context, UnsupportedCreationParametersAreRefused) {
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

TEST_F(Context, AContextIsCurrentInThreadLocalDestructors) {
  const CUcontext primary = retain();
  CUresult result = CUDA_ERROR_UNKNOWN;
  std::thread{[&] {
    thread_local late_caller last;  // created before the thread's first call
    last.result = &result;
    EXPECT_EQ(driver.cuCtxSetCurrent(primary), CUDA_SUCCESS);
  }}.join();
  EXPECT_EQ(result, CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
