// SPDX-License-Identifier: Apache-2.0
// pool_test.cpp - pools: when they release memory, when they are full, and how they are destroyed.
#include "pool_fixture.hpp"

#include "embedded/model/memory/pool/memory_pool.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"

#include <memory>
#include <thread>

namespace weir::embedded {
namespace {

class Pool : public pool_test {};

TEST_F(Pool, MemoryFreedByTheHostIsFreeAtOnce) {
  test_pool pool;
  test_stream s;
  const CUdeviceptr first = pool.allocate(mega, s);
  s.synchronize();
  test_stream t;
  stream_gate gate{s};
  EXPECT_EQ(driver.cuMemFree_v2(first), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree_v2(first), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(pool.allocate(mega, t), first);
  release(first, t);
}

TEST_F(Pool, APoolReleasesMemoryAboveItsThreshold) {
  test_pool pool{chunk};
  test_stream s;
  const CUdeviceptr a = pool.allocate(chunk, s);
  const CUdeviceptr b = pool.allocate(mega, s);
  EXPECT_EQ(pool.reserved(), 2 * chunk);
  release(a, s);
  release(b, s);
  EXPECT_EQ(pool.used(), 0u);
  s.synchronize();
  EXPECT_EQ(pool.reserved(), chunk);
  pool.trim(chunk + 1);
  EXPECT_EQ(pool.reserved(), chunk);
  pool.trim(1);
  EXPECT_EQ(pool.reserved(), chunk);
  pool.trim(0);
  EXPECT_EQ(pool.reserved(), 0u);
  EXPECT_EQ(pool.get(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 2 * chunk);
  pool.set(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, cuuint64_t{0});
  EXPECT_EQ(pool.get(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), 0u);
}

TEST_F(Pool, APoolKeepsMemoryThatWorkMayUse) {
  test_pool pool{0};
  test_stream s;
  test_stream idle;
  const CUdeviceptr a = pool.allocate(mega, s);
  s.synchronize();
  {
    stream_gate gate{s};
    release(a, s);
    idle.synchronize();
    pool.trim(0);
    EXPECT_EQ(pool.reserved(), chunk);
    gate.open();
  }
  s.synchronize();
  EXPECT_EQ(pool.reserved(), 0u);
}

TEST_F(Pool, APoolLivesUntilItsLastBlockIsFreed) {
  const std::size_t before = free_memory();
  test_stream s;
  CUdeviceptr a = 0;
  {
    test_pool pool;
    a = pool.allocate(mega, s);
    release(pool.allocate(mega, s), s);
  }
  EXPECT_EQ(driver.cuMemsetD8Async(a, 1, mega, s), CUDA_SUCCESS);
  CUmemoryPool of = nullptr;
  EXPECT_EQ(driver.cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a),
            CUDA_SUCCESS);
  EXPECT_NE(of, nullptr);
  release(a, s);
  s.synchronize();
  EXPECT_EQ(free_memory(), before);
}

TEST_F(Pool, APoolIsLimitedToItsMaximumSize) {
  test_pool pool{~cuuint64_t{0}, chunk + mega};  // two chunks
  test_stream s;
  const CUdeviceptr a = pool.allocate(chunk, s);
  CUdeviceptr b = 0;
  EXPECT_EQ(pool.try_allocate(&b, chunk + 512, s), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(b, 0u);
  release(a, s);
  // Idle memory makes room for another size.
  EXPECT_EQ(pool.try_allocate(&b, chunk + 512, s), CUDA_SUCCESS);
  release(b, s);
  s.synchronize();
}

// The requested size plus a chunk overflows, so everything is kept.
TEST_F(Pool, ATrimToAHugeSizeKeepsAllMemory) {
  test_pool pool;
  test_stream s;
  release(pool.allocate(mega, s), s);
  s.synchronize();
  pool.trim(~std::size_t{0} - 32 * mega + 1);
  EXPECT_EQ(pool.reserved(), chunk);
}

// A thread that looked up a pool before another thread destroyed it allocates neither from it nor
// from the next pool in the entry.
TEST_F(Pool, ADestroyedPoolAllocatesNothing) {
  test_stream s;
  model::stream& by = *model::this_process().streams.find(CUstream{s});
  auto ended = std::make_unique<test_pool>();
  const model::pool_registry::pool_generation found =
      model::pool_registry::find_with_generation(ended->handle());
  ended->destroy();
  CUdeviceptr address = 0;
  EXPECT_EQ(found.pool->allocate(mega, by, found.generation, &address), CUDA_ERROR_INVALID_VALUE);
  const test_pool next;
  ASSERT_EQ(model::pool_registry::find(next.handle()), found.pool);
  EXPECT_EQ(found.pool->allocate(mega, by, found.generation, &address), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Pool, ADestroyedCurrentPoolIsReplacedByTheDefaultPool) {
  CUmemoryPool own = nullptr;
  ASSERT_EQ(driver.cuDeviceGetDefaultMemPool(&own, 0), CUDA_SUCCESS);
  std::atomic<bool> over{false};
  std::thread other{[&, context = current_context()] {
    EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    const test_stream s;
    while (!over.load()) {
      CUdeviceptr address = 0;
      EXPECT_EQ(driver.cuMemAllocAsync(&address, mega, s), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuMemFreeAsync(address, s), CUDA_SUCCESS);
    }
    s.synchronize();
    model::this_thread().stack.clear();
  }};
  for (int round = 0; round < 500; ++round) {
    const test_pool pool{0};
    EXPECT_EQ(driver.cuDeviceSetMemPool(0, pool.handle()), CUDA_SUCCESS);
  }
  over.store(true);
  other.join();
  CUmemoryPool current = nullptr;
  EXPECT_EQ(driver.cuDeviceGetMemPool(&current, 0), CUDA_SUCCESS);
  EXPECT_EQ(current, own);
}

}  // namespace
}  // namespace weir::embedded
