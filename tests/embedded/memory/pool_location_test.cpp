// SPDX-License-Identifier: Apache-2.0
// pool_location_test.cpp - host and managed pools: the kind of their memory, and the default pools.
#include <cstring>
#include <vector>

#include "embedded/memory/memory_fixture.hpp"

namespace weir::embedded {
namespace {

constexpr std::size_t bytes = 64 << 10;
constexpr CUmemLocation host{CU_MEM_LOCATION_TYPE_HOST, 0};
constexpr CUmemLocation node{CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
constexpr CUmemLocation no_location{CU_MEM_LOCATION_TYPE_INVALID, 0};

CUmemoryPool make_pool(CUmemAllocationType type, CUmemLocation at, std::size_t most = 0) {
  CUmemPoolProps props{};
  props.allocType = type;
  props.location = at;
  props.maxSize = most;
  CUmemoryPool pool = nullptr;
  EXPECT_EQ(driver.cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
  return pool;
}

CUmemoryPool current_of(CUmemLocation at, CUmemAllocationType type) {
  CUmemoryPool pool = nullptr;
  EXPECT_EQ(driver.cuMemGetMemPool(&pool, &at, type), CUDA_SUCCESS);
  return pool;
}

class PoolLocation : public memory_test {};

// A host pool does not count against the device. The host accesses its memory; a device with access
// does so in stream order.
TEST_F(PoolLocation, HostPoolsDoNotCountAgainstTheDevice) {
  const test_stream stream;
  for (const CUmemoryPool pool : {make_pool(CU_MEM_ALLOCATION_TYPE_PINNED, host),
                                  make_pool(CU_MEM_ALLOCATION_TYPE_PINNED, node),
                                  make_pool(CU_MEM_ALLOCATION_TYPE_MANAGED, no_location),
                                  make_pool(CU_MEM_ALLOCATION_TYPE_MANAGED, host)}) {
    const std::size_t free_before = free_memory();
    CUdeviceptr memory = 0;
    ASSERT_EQ(driver.cuMemAllocFromPoolAsync(&memory, bytes, pool, stream), CUDA_SUCCESS);
    EXPECT_EQ(free_memory(), free_before);
    ASSERT_EQ(driver.cuMemPoolSetAccess(pool, &device_0_access, 1), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemsetD32Async(memory, 7, bytes / 4, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(words_at(memory)[bytes / 4 - 1], 7u);

    void* seen = nullptr;
    EXPECT_EQ(driver.cuPointerGetAttribute(&seen, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory),
              CUDA_SUCCESS);
    EXPECT_EQ(address_of(seen), memory);
    EXPECT_EQ(driver.cuMemFreeAsync(memory, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemPoolDestroy(pool), CUDA_SUCCESS);
  }
}

// Only the host accesses a host pool's memory until a device is given access. Access applies to
// existing allocations, too.
TEST_F(PoolLocation, ADeviceNeedsAccessToAHostPool) {
  const test_stream stream;
  const CUmemoryPool pool = make_pool(CU_MEM_ALLOCATION_TYPE_PINNED, host);
  CUdeviceptr memory = 0;
  ASSERT_EQ(driver.cuMemAllocFromPoolAsync(&memory, bytes, pool, stream), CUDA_SUCCESS);
  const auto set = [&] { return driver.cuMemsetD8Async(memory, 1, bytes, stream); };
  CUdeviceptr told = 0;
  EXPECT_EQ(set(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuPointerGetAttribute(&told, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, memory),
            CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(driver.cuMemPoolSetAccess(pool, &device_0_access, 1), CUDA_SUCCESS);
  EXPECT_EQ(set(), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuPointerGetAttribute(&told, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, memory),
            CUDA_SUCCESS);
  EXPECT_EQ(told, memory);
  const CUmemAccessDesc nothing{device_0_access.location, CU_MEM_ACCESS_FLAGS_PROT_NONE};
  ASSERT_EQ(driver.cuMemPoolSetAccess(pool, &nothing, 1), CUDA_SUCCESS);
  EXPECT_EQ(set(), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemFreeAsync(memory, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemPoolDestroy(pool), CUDA_SUCCESS);
}

// A copy that treats the memory as device memory needs access; a copy that treats it as host memory
// does not.
TEST_F(PoolLocation, MemoryOfAHostPoolIsCopiedAsHostMemory) {
  const test_stream stream;
  const CUmemoryPool pool = make_pool(CU_MEM_ALLOCATION_TYPE_PINNED, host);
  CUdeviceptr memory = 0, device = 0;
  ASSERT_EQ(driver.cuMemAllocFromPoolAsync(&memory, bytes, pool, stream), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemAlloc_v2(&device, bytes), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemsetD8_v2(device, 4, bytes), CUDA_SUCCESS);
  auto* const seen = reinterpret_cast<unsigned char*>(memory);
  std::vector<unsigned char> out(bytes);

  EXPECT_EQ(driver.cuMemcpyDtoH_v2(seen, device, bytes), CUDA_SUCCESS);
  EXPECT_EQ(seen[bytes - 1], 4);
  std::memset(seen, 5, bytes);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(device, seen, bytes, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemcpyAsync(address_of(out.data()), memory, bytes, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(stream), CUDA_SUCCESS);
  EXPECT_EQ(out[bytes - 1], 5);
  EXPECT_EQ(driver.cuMemcpyDtoH_v2(out.data(), device, bytes), CUDA_SUCCESS);
  EXPECT_EQ(out[bytes - 1], 5);

  EXPECT_EQ(driver.cuMemcpy(memory, device, bytes + 1), CUDA_ERROR_INVALID_VALUE) << "past its end";
  EXPECT_EQ(driver.cuMemcpyDtoH_v2(out.data(), memory, bytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemcpyHtoD_v2(memory, out.data(), bytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemcpyDtoD_v2(device, memory, bytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemFree_v2(device), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFreeAsync(memory, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemPoolDestroy(pool), CUDA_SUCCESS);
}

// Each location has a permanent default pool; another pool can become the current one.
TEST_F(PoolLocation, EachLocationHasADefaultAndACurrentPool) {
  for (const CUmemAllocationType type :
       {CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_ALLOCATION_TYPE_MANAGED}) {
    CUmemLocation at = host;
    CUmemoryPool own = nullptr;
    ASSERT_EQ(driver.cuMemGetDefaultMemPool(&own, &at, type), CUDA_SUCCESS);
    EXPECT_EQ(current_of(at, type), own);
    EXPECT_EQ(driver.cuMemPoolDestroy(own), CUDA_ERROR_INVALID_VALUE);

    const CUmemoryPool mine = make_pool(type, at);
    EXPECT_EQ(driver.cuMemSetMemPool(&at, type, mine), CUDA_SUCCESS);
    EXPECT_EQ(current_of(at, type), mine);
    EXPECT_EQ(driver.cuMemPoolDestroy(mine), CUDA_SUCCESS);
    CUmemoryPool none = nullptr;
    EXPECT_EQ(driver.cuMemGetMemPool(&none, &at, type), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(driver.cuMemSetMemPool(&at, type, own), CUDA_SUCCESS);
    EXPECT_EQ(current_of(at, type), own);
  }
}

// Memory of a managed pool can be prefetched; the next allocation in the block starts without that
// state.
TEST_F(PoolLocation, ManagedBlocksArePrefetched) {
  const test_stream stream;
  const CUmemoryPool pool = make_pool(CU_MEM_ALLOCATION_TYPE_MANAGED, no_location);
  const auto prefetched_to = [](CUdeviceptr memory) {
    int device = 99;
    EXPECT_EQ(
        driver.cuMemRangeGetAttribute(&device, sizeof device,
                                      CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, memory, bytes),
        CUDA_SUCCESS);
    return device;
  };
  for (int generation = 0; generation < 2; ++generation) {
    CUdeviceptr memory = 0;
    ASSERT_EQ(driver.cuMemAllocFromPoolAsync(&memory, bytes, pool, stream), CUDA_SUCCESS);
    EXPECT_EQ(prefetched_to(memory), CU_DEVICE_INVALID);
    EXPECT_EQ(
        driver.cuMemPrefetchAsync_v2(memory, bytes, {CU_MEM_LOCATION_TYPE_DEVICE, 0}, 0, stream),
        CUDA_SUCCESS);
    EXPECT_EQ(prefetched_to(memory), 0);
    EXPECT_EQ(driver.cuMemFreeAsync(memory, stream), CUDA_SUCCESS);
  }
  EXPECT_EQ(driver.cuMemPoolDestroy(pool), CUDA_SUCCESS);
}

// A device's current pool must be a pool of its own memory.
TEST_F(PoolLocation, APoolOfAnotherLocationIsRefused) {
  CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, 0};
  for (const CUmemoryPool other : {make_pool(CU_MEM_ALLOCATION_TYPE_PINNED, host),
                                   make_pool(CU_MEM_ALLOCATION_TYPE_MANAGED, here)}) {
    EXPECT_EQ(driver.cuDeviceSetMemPool(0, other), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(driver.cuMemSetMemPool(&here, CU_MEM_ALLOCATION_TYPE_PINNED, other),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(driver.cuMemPoolDestroy(other), CUDA_SUCCESS);
  }
}

}  // namespace
}  // namespace weir::embedded
