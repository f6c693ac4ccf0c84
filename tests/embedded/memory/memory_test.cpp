// SPDX-License-Identifier: Apache-2.0
// memory_test.cpp - device and pinned memory: location, accounting, and freeing.
#include "embedded/core/out_of_memory.hpp"
#include "linear_fixture.hpp"

#include <rapidcheck/gtest.h>
#include <sys/mman.h>

#include <thread>
#include <utility>
#include <vector>

namespace weir::embedded {
namespace {

class Memory : public linear_test {};

// Retries a free or destroy call while it runs out of memory itself.
template <class End>
void end_with_little_memory(End&& end) {
  for (int room = 0; room < 100; ++room) {
    const CUresult status = [&] {
      const out_of_memory after{room};
      return end();
    }();
    if (status == CUDA_SUCCESS) return;
    ASSERT_EQ(status, CUDA_ERROR_OUT_OF_MEMORY) << "with room for " << room;
  }
  FAIL();
}

TEST_F(Memory, AllocationsAreAlignedAndAccountedFor) {
  const std::size_t before = free_memory();
  for (const std::size_t bytes : {1u, 511u, 513u, 65535u, 65536u, (1u << 21) + 1, 5u << 20}) {
    const CUdeviceptr address = allocate(bytes);
    EXPECT_EQ(address % 512, 0u);
    EXPECT_LE(free_memory(), before - bytes);
    EXPECT_GE(free_memory(), before - bytes - 512);
    release(address);
    EXPECT_EQ(free_memory(), before);
  }
}

// Managed memory counts against the device only after it was prefetched there.
TEST_F(Memory, ManagedMemoryCountsOnceItWasPrefetched) {
  const std::size_t free_before = free_memory();
  CUdeviceptr memory = 0;
  ASSERT_EQ(driver.cuMemAllocManaged(&memory, 1 << 20, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemsetD8_v2(memory, 1, 1 << 20), CUDA_SUCCESS);
  EXPECT_EQ(free_memory(), free_before);
  EXPECT_EQ(
      driver.cuMemPrefetchAsync_v2(memory, 1 << 20, {CU_MEM_LOCATION_TYPE_DEVICE, 0}, 0, nullptr),
      CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(free_memory(), free_before - (1 << 20));
  EXPECT_EQ(driver.cuMemFree_v2(memory), CUDA_SUCCESS);
}

TEST_F(Memory, AllocationsEndAtTheMemoryOfTheDevice) {
  const std::size_t left = free_memory();
  ASSERT_TRUE(device().reserve_memory(left - (1 << 20)));
  CUdeviceptr address = 0;
  EXPECT_EQ(driver.cuMemAlloc_v2(&address, (1 << 20) + 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver.cuMemAlloc_v2(&address, 1 << 20), CUDA_SUCCESS);
  CUdeviceptr more = 0;
  EXPECT_EQ(driver.cuMemAlloc_v2(&more, 1), CUDA_ERROR_OUT_OF_MEMORY);
  release(address);
  more = allocate(512);
  release(more);
  device().release_memory(left - (1 << 20));
}

TEST_F(Memory, MemoryEndsWithItsContext) {
  CUcontext other = nullptr;
  const std::size_t before = free_memory();
  ASSERT_EQ(driver.cuCtxCreate_v4(&other, nullptr, 0, 0), CUDA_SUCCESS);
  const CUdeviceptr address = allocate(4096);
  void* pinned = nullptr;
  ASSERT_EQ(driver.cuMemAllocHost_v2(&pinned, 4096), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxDestroy_v2(other), CUDA_SUCCESS);
  unsigned type = 0;
  EXPECT_EQ(driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(
      driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address_of(pinned)),
      CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_memory(), before);
}

// If two threads free one allocation, one of them succeeds.
TEST_F(Memory, MemoryIsFreedOnce) {
  for (int round = 0; round < 200; ++round) {
    const CUdeviceptr address = allocate(64);
    CUresult other = CUDA_ERROR_UNKNOWN;
    std::thread thread{[&] { other = driver.cuMemFree_v2(address); }};
    const CUresult mine = driver.cuMemFree_v2(address);
    thread.join();
    EXPECT_NE(mine == CUDA_SUCCESS, other == CUDA_SUCCESS);
  }
}

// Any work of the context may use the memory, so a free waits for all of it.
TEST_F(Memory, FreeWaitsForTheWorkOfTheContext) {
  test_stream s;
  const CUdeviceptr busy = allocate(1 << 20);
  const CUdeviceptr address = allocate(64);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(driver.cuMemsetD8Async(busy, static_cast<unsigned char>(i), 1 << 20, s),
              CUDA_SUCCESS);
  }
  release(address);
  EXPECT_EQ(driver.cuStreamQuery(s), CUDA_SUCCESS);
  release(busy);
}

// Registration needs existing memory, and its record ends when the program unregisters it.
TEST_F(Memory, MemoryOfTheProgramIsRegistered) {
  constexpr std::size_t page = 4096;
  void* pages = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(munmap(static_cast<std::byte*>(pages) + page, page), 0);
  EXPECT_EQ(driver.cuMemHostRegister_v2(pages, 2 * page, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemHostRegister_v2(pages, page, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemsetD8_v2(address_of(pages), 4, page), CUDA_SUCCESS);
  EXPECT_EQ(static_cast<unsigned char*>(pages)[page - 1], 4);
  EXPECT_EQ(driver.cuMemsetD8_v2(address_of(pages) + 1, 4, page), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemHostUnregister(pages), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemsetD8_v2(address_of(pages), 4, page), CUDA_ERROR_INVALID_VALUE);
  munmap(pages, page);
}

// Live allocations of all kinds never overlap, and any address in one identifies it.
RC_GTEST_FIXTURE_PROP(Memory, AllocationsDoNotOverlap, ()) {
  const test_stream s;
  std::vector<std::pair<CUdeviceptr, std::size_t>> live;
  std::vector<int> kinds;
  const std::size_t before = free_memory();
  const auto free_one = [&](std::size_t i) {
    const CUdeviceptr address = live[i].first;
    const CUresult status = kinds[i] == 0 ? driver.cuMemFree_v2(address)
                            : kinds[i] == 1
                                ? driver.cuMemFreeAsync(address, s)
                                : driver.cuMemFreeHost(reinterpret_cast<void*>(address));
    RC_ASSERT(status == CUDA_SUCCESS);
    live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
    kinds.erase(kinds.begin() + static_cast<std::ptrdiff_t>(i));
  };
  const auto count = *rc::gen::inRange(1, 80);
  for (int i = 0; i < count; ++i) {
    if (!live.empty() && *rc::gen::inRange(0, 3) == 0) {
      free_one(*rc::gen::inRange<std::size_t>(0, live.size()));
      continue;
    }
    const int kind = *rc::gen::inRange(0, 3);
    const std::size_t bytes = *rc::gen::oneOf(rc::gen::inRange<std::size_t>(1, 2000),
                                              rc::gen::inRange<std::size_t>(1, 300000));
    CUdeviceptr address = 0;
    void* pointer = nullptr;
    const CUresult status = kind == 0   ? driver.cuMemAlloc_v2(&address, bytes)
                            : kind == 1 ? driver.cuMemAllocAsync(&address, bytes, s)
                                        : driver.cuMemAllocHost_v2(&pointer, bytes);
    RC_ASSERT(status == CUDA_SUCCESS);
    if (kind == 2) address = address_of(pointer);
    for (const auto& [other, length] : live)
      RC_ASSERT(address + bytes <= other || other + length <= address);
    live.emplace_back(address, bytes);
    kinds.push_back(kind);
    CUdeviceptr base = 0;
    std::size_t size = 0;
    RC_ASSERT(driver.cuMemGetAddressRange_v2(&base, &size, address + bytes - 1) == CUDA_SUCCESS);
    RC_ASSERT(base == address && size == bytes);
  }
  while (!live.empty()) free_one(live.size() - 1);
  s.synchronize();
  RC_ASSERT(free_memory() == before);
}

// A free that fails for lack of memory frees nothing.
TEST_F(Memory, AFailedFreeCanBeRepeated) {
  CUdeviceptr device_memory = 0;
  CUdeviceptr managed = 0;
  void* pinned = nullptr;
  alignas(64) static std::byte own[64];
  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR shape{16, 16, CU_AD_FORMAT_FLOAT, 1};
  ASSERT_EQ(driver.cuMemAlloc_v2(&device_memory, 4096), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemHostAlloc(&pinned, 4096, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemHostRegister_v2(own, sizeof own, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuArrayCreate_v2(&array, &shape), CUDA_SUCCESS);
  end_with_little_memory([&] { return driver.cuMemFree_v2(device_memory); });
  end_with_little_memory([&] { return driver.cuMemFree_v2(managed); });
  end_with_little_memory([&] { return driver.cuMemFreeHost(pinned); });
  end_with_little_memory([&] { return driver.cuMemHostUnregister(own); });
  end_with_little_memory([&] { return driver.cuArrayDestroy(array); });
}

}  // namespace
}  // namespace weir::embedded
