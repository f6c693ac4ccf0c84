// SPDX-License-Identifier: Apache-2.0
// without_memory_test.cpp - destruction and waiting succeed without memory.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "embedded/graph/graph_fixture.hpp"
#include "out_of_memory.hpp"
#include "support/yield_for.hpp"

namespace weir::embedded {
namespace {

using WithoutMemory = memory_test;

// Fills a blocked stream until the driver has no room for another operation. Returns the last value
// that the word gets.
unsigned fill(CUstream s, const pinned_block& word) {
  const out_of_memory none;
  unsigned value = 0;
  while (driver.cuMemsetD32Async(word.address(), value + 1, 1, s) == CUDA_SUCCESS) ++value;
  return value;
}

template <class Call>
CUresult without_memory(Call&& call) {
  const out_of_memory none;
  return call();
}

CUresult destroy_without_memory(CUstream s) {
  return without_memory([s] { return driver.cuStreamDestroy_v2(s); });
}

// Pending work of a destroyed stream runs, though no memory is left to queue anything behind it.
TEST_F(WithoutMemory, AStreamWithPendingWorkIsDestroyedWithoutMemory) {
  const pinned_block word{4};
  CUstream s = nullptr;
  ASSERT_EQ(driver.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  unsigned last = 0;
  {
    stream_gate gate{s};
    last = fill(s, word);
    EXPECT_EQ(destroy_without_memory(s), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamQuery(s), CUDA_ERROR_INVALID_HANDLE);
    gate.open();
  }
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(words_at(word.address())[0], last);
}

TEST_F(WithoutMemory, AnIdleStreamIsDestroyedWithoutMemory) {
  const pinned_block word{4};
  const test_stream other;  // uses up the remaining room
  stream_gate gate{other};
  fill(other, word);
  CUstream s = nullptr;
  ASSERT_EQ(driver.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  unsigned last = 0;
  {
    stream_gate until_full{s};
    last = fill(s, word);
    until_full.open();
    EXPECT_EQ(driver.cuStreamSynchronize(s), CUDA_SUCCESS);
    EXPECT_EQ(words_at(word.address())[0], last);
    EXPECT_EQ(destroy_without_memory(s), CUDA_SUCCESS);
    gate.open();
  }
}

// A context destroys everything that it owns, without allocating.
TEST_F(WithoutMemory, AContextIsDestroyedWithoutMemory) {
  const std::size_t before = free_memory();
  CUcontext own = nullptr;
  CUstream s = nullptr;
  CUevent e = nullptr;
  ASSERT_EQ(driver.cuCtxCreate_v4(&own, nullptr, 0, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuEventCreate(&e, CU_EVENT_DEFAULT), CUDA_SUCCESS);
  for (int i = 0; i < 200; ++i) {
    CUdeviceptr block = 0;
    ASSERT_EQ(driver.cuMemAlloc_v2(&block, 512), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuMemsetD8Async(block, 1, 512, s), CUDA_SUCCESS);
  }
  EXPECT_EQ(without_memory([own] { return driver.cuCtxDestroy_v2(own); }), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamQuery(s), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(driver.cuEventQuery(e), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(driver.cuCtxDestroy_v2(own), CUDA_ERROR_CONTEXT_IS_DESTROYED);
  EXPECT_EQ(free_memory(), before);
}

// Reset and last release of the primary context succeed, with a green context that has just been
// destroyed.
TEST_F(WithoutMemory, APrimaryContextIsResetWithoutMemory) {
  const auto is_active = [] {
    unsigned flags = 0;
    int active = 0;
    EXPECT_EQ(driver.cuDevicePrimaryCtxGetState(0, &flags, &active), CUDA_SUCCESS);
    return active != 0;
  };
  EXPECT_EQ(without_memory([] { return driver.cuDevicePrimaryCtxReset_v2(0); }), CUDA_SUCCESS);
  EXPECT_FALSE(is_active());
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  CUcontext primary = nullptr;
  CUgreenCtx green = nullptr;
  ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGreenCtxCreate(&green, nullptr, 0, CU_GREEN_CTX_DEFAULT_STREAM), CUDA_SUCCESS);
  EXPECT_EQ(without_memory([green] { return driver.cuGreenCtxDestroy(green); }), CUDA_SUCCESS);
  EXPECT_TRUE(is_active());
  EXPECT_EQ(without_memory([] { return driver.cuDevicePrimaryCtxRelease_v2(0); }), CUDA_SUCCESS);
  EXPECT_FALSE(is_active());
  // balances the release at the end of the test
  ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
}

// A waiting thread that finds nothing to run sleeps.
TEST_F(WithoutMemory, AThreadWaitsWithoutMemory) {
  std::atomic<int> round{0};
  std::atomic<stream_gate*> gate{nullptr};
  std::thread opening{[&] {
    while (round < 8) {
      if (stream_gate* const closed = gate.exchange(nullptr)) {
        // by then the other thread sleeps, or never will
        test::yield_for(std::chrono::milliseconds{1});
        closed->open();
        ++round;
      }
    }
  }};
  for (int i = 0; i < 8; ++i) {
    const test_stream s;
    stream_gate closed{s};
    gate = &closed;
    EXPECT_EQ(without_memory([&] { return driver.cuStreamSynchronize(s); }), CUDA_SUCCESS);
    while (round == i) std::this_thread::yield();
  }
  opening.join();
}

// A thread without memory to queue a stream that waits for another one runs it directly.
TEST_F(WithoutMemory, StreamsWaitForEachOtherWithoutMemory) {
  const pinned_block word{4};
  CUevent e = nullptr;
  ASSERT_EQ(driver.cuEventCreate(&e, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  for (unsigned i = 1; i <= 8; ++i) {
    const test_stream s;
    const test_stream t;
    stream_gate gate{s};
    ASSERT_EQ(driver.cuEventRecord(e, s), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuMemsetD32Async(word.address(), 0, 1, t),
              CUDA_SUCCESS);  // leaves room for operations
    const CUresult waited = without_memory([&] {
      if (const CUresult status = driver.cuStreamWaitEvent(t, e, 0); status != CUDA_SUCCESS)
        return status;
      if (const CUresult status = driver.cuMemsetD32Async(word.address(), i, 1, t);
          status != CUDA_SUCCESS)
        return status;
      gate.open();
      return driver.cuStreamSynchronize(t);
    });
    EXPECT_EQ(waited, CUDA_SUCCESS);
    EXPECT_EQ(words_at(word.address())[0], i);
  }
  EXPECT_EQ(driver.cuEventDestroy_v2(e), CUDA_SUCCESS);
}

// A failed launch of an empty executable keeps no reference to it.
TEST_F(WithoutMemory, AnEmptyLaunchWithoutMemoryKeepsNothing) {
  counter ended;
  CUuserObject object = nullptr;
  ASSERT_EQ(driver.cuUserObjectCreate(&object, &ended, counter::count, 1,
                                      CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
            CUDA_SUCCESS);
  const test_stream s;
  {
    test_graph g;
    g.add_empty();
    ASSERT_EQ(driver.cuGraphRetainUserObject(g, object, 1, CU_GRAPH_USER_OBJECT_MOVE),
              CUDA_SUCCESS);
    const test_exec run{g};
    stream_gate gate{s};
    const CUresult last = without_memory([&] {
      for (;;) {
        if (const CUresult status = driver.cuGraphLaunch(run, s); status != CUDA_SUCCESS)
          return status;
      }
    });
    EXPECT_EQ(last, CUDA_ERROR_OUT_OF_MEMORY);
  }
  s.synchronize();
  await_destructors();
  EXPECT_EQ(ended.calls, 1);
}

// The destructors of released user objects run once memory to queue them is available, at the
// latest with the next user object.
TEST_F(WithoutMemory, UserObjectsAreReleasedWithoutMemory) {
  constexpr int many = 200;
  std::atomic<int> destroyed{0};
  const auto made = [&] {
    CUuserObject object = nullptr;
    const auto destroy = [](void* count) { ++*static_cast<std::atomic<int>*>(count); };
    EXPECT_EQ(driver.cuUserObjectCreate(&object, &destroyed, +destroy, 1,
                                        CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
              CUDA_SUCCESS);
    return object;
  };
  std::vector<CUuserObject> objects;
  objects.reserve(many);
  for (int i = 0; i < many; ++i) objects.push_back(made());
  for (const CUuserObject object : objects) {
    EXPECT_EQ(without_memory([&] { return driver.cuUserObjectRelease(object, 1); }), CUDA_SUCCESS);
  }
  EXPECT_EQ(driver.cuUserObjectRelease(made(), 1), CUDA_SUCCESS);
  while (destroyed != many + 1) std::this_thread::yield();
}

}  // namespace
}  // namespace weir::embedded
