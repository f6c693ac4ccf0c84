// SPDX-License-Identifier: Apache-2.0
// pool_reuse_test.cpp - which stream gets memory freed to a pool, and which stream waits for it.
#include "pool_fixture.hpp"

namespace weir::embedded {
namespace {

class PoolReuse : public pool_test {};

// A stream reuses its freed memory at once, because its later work comes after its earlier work.
TEST_F(PoolReuse, AStreamReusesMemoryThatItFreed) {
  test_pool pool;
  test_stream s;
  stream_gate gate{s};
  const CUdeviceptr first = pool.allocate(mega, s);
  release(first, s);
  EXPECT_EQ(pool.allocate(mega, s), first);
  const CUdeviceptr second = pool.allocate(mega, s);
  EXPECT_NE(second, first);
  EXPECT_EQ(pool.used(), 2 * mega);
  release(first, s);
  release(second, s);
}

TEST_F(PoolReuse, AnotherStreamReusesMemoryAfterTheFreeCompletes) {
  test_pool pool;
  test_stream s;
  test_stream t;
  const CUdeviceptr first = pool.allocate(mega, s);
  CUdeviceptr second = 0;
  {
    stream_gate gate{s};
    release(first, s);
    second = pool.allocate(mega, t);
    EXPECT_NE(second, first);
    gate.open();
  }
  s.synchronize();
  EXPECT_EQ(pool.allocate(mega, t), first);
  release(first, t);
  release(second, t);
  t.synchronize();
}

// Idle blocks do not make a device full.
TEST_F(PoolReuse, IdleMemoryOfAnyPoolMakesRoom) {
  test_pool idle;
  test_stream s;
  leave(chunk + mega);
  release(idle.allocate(3 * mega, s), s);
  s.synchronize();
  EXPECT_EQ(idle.reserved(), chunk);
  CUdeviceptr plain = 0;
  EXPECT_EQ(driver.cuMemAlloc_v2(&plain, 4 * mega), CUDA_SUCCESS);
  EXPECT_EQ(idle.reserved(), 0u);
  EXPECT_EQ(driver.cuMemFree_v2(plain), CUDA_SUCCESS);
}

// A stream that alternates frees and allocations needs the memory of one step only, whatever the
// sizes, though the host is far ahead.
TEST_F(PoolReuse, AStreamMakesRoomForItself) {
  test_pool pool;
  test_stream s;
  leave(chunk + mega);
  {
    stream_gate gate{s};
    for (std::size_t i = 0; i < 40; ++i) {
      const CUdeviceptr block = pool.allocate(chunk - 2 * mega + i * 20'000, s);
      EXPECT_EQ(driver.cuMemsetD8Async(block, static_cast<unsigned char>(i), mega, s),
                CUDA_SUCCESS);
      release(block, s);
    }
    gate.open();
  }
  s.synchronize();
}

// With no other memory left, an allocation gets a block that another stream will free, and waits
// for it in stream order.
TEST_F(PoolReuse, AStreamMayWaitForABlockOfAnotherStream) {
  test_pool pool;
  test_stream s;
  test_stream t;
  const pinned_block result{8};
  leave(chunk);
  {
    stream_gate gate{s};
    const CUdeviceptr block = pool.allocate(chunk, s);
    EXPECT_EQ(driver.cuMemsetD32Async(block, 1, 1, s), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyDtoHAsync_v2(result.get(), block, 4, s), CUDA_SUCCESS);
    release(block, s);
    CUdeviceptr again = 0;
    pool.set(CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 0);
    EXPECT_EQ(pool.try_allocate(&again, chunk, t), CUDA_ERROR_OUT_OF_MEMORY);
    pool.set(CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, 1);
    EXPECT_EQ(pool.try_allocate(&again, chunk, t), CUDA_SUCCESS);
    EXPECT_EQ(again, block);
    EXPECT_EQ(driver.cuMemsetD32Async(again, 2, 1, t), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamQuery(t), CUDA_ERROR_NOT_READY);
    release(again, t);
    gate.open();
  }
  s.synchronize();
  t.synchronize();
  EXPECT_EQ(words_at(result.address())[0], 1u);
}

// A stream that has waited for a free by an event reuses the block, though neither stream has
// reached it. An event recorded before the free does not allow this, nor does a pool without event
// dependencies.
TEST_F(PoolReuse, AStreamReusesMemoryFreedBeforeAnAwaitedEvent) {
  test_pool pool;
  test_stream s;
  test_stream through;
  test_stream t;
  CUevent before = nullptr;
  CUevent event = nullptr;
  ASSERT_EQ(driver.cuEventCreate(&before, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  const CUdeviceptr block = pool.allocate(mega, s);
  CUdeviceptr other = 0;
  {
    stream_gate gate{s};
    EXPECT_EQ(driver.cuEventRecord(before, s), CUDA_SUCCESS);
    release(block, s);
    EXPECT_EQ(driver.cuStreamWaitEvent(t, before, 0), CUDA_SUCCESS);
    other = pool.allocate(mega, t);
    EXPECT_NE(other, block);
    EXPECT_EQ(driver.cuEventRecord(event, s), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamWaitEvent(through, event, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuEventRecord(event, through), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamWaitEvent(t, event, 0), CUDA_SUCCESS);
    pool.set(CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, 0);
    const CUdeviceptr third = pool.allocate(mega, t);
    EXPECT_NE(third, block);
    release(third, s);
    pool.set(CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, 1);
    EXPECT_EQ(pool.allocate(mega, t), block);
    gate.open();
  }
  release(block, t);
  release(other, t);
  t.synchronize();
  s.synchronize();
  EXPECT_EQ(driver.cuEventDestroy_v2(before), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventDestroy_v2(event), CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
