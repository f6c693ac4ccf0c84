// SPDX-License-Identifier: Apache-2.0
// managed_advice_test.cpp - advice on managed pages, and that it is forgotten when they are freed.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <array>
#include <cstddef>
#include <vector>

#include "embedded/core/out_of_memory.hpp"
#include "embedded/memory/memory_fixture.hpp"

namespace weir::embedded {
namespace {

constexpr std::size_t page = 4096;

class ManagedAdvice : public memory_test {};

int read_mostly(CUdeviceptr at, std::size_t bytes) {
  int value = -9;
  EXPECT_EQ(driver.cuMemRangeGetAttribute(&value, sizeof value, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                          at, bytes),
            CUDA_SUCCESS);
  return value;
}

// A page returns the last advice that was set for it, after any sequence of overlapping ranges.
RC_GTEST_FIXTURE_PROP(ManagedAdvice, EachPageHasItsLastAdvice, ()) {
  constexpr std::size_t pages = 12;
  CUdeviceptr memory = 0;
  RC_ASSERT(driver.cuMemAllocManaged(&memory, pages * page, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS);
  std::array<int, pages> expected{};
  const auto rounds = *rc::gen::inRange(1, 12);
  for (int round = 0; round < rounds; ++round) {
    const auto first = *rc::gen::inRange<std::size_t>(0, pages);
    const auto count = *rc::gen::inRange<std::size_t>(1, pages - first + 1);
    const bool set = *rc::gen::arbitrary<bool>();
    const CUmem_advise advice =
        set ? CU_MEM_ADVISE_SET_READ_MOSTLY : CU_MEM_ADVISE_UNSET_READ_MOSTLY;
    RC_ASSERT(driver.cuMemAdvise_v2(memory + first * page, count * page, advice, device_0) ==
              CUDA_SUCCESS);
    for (std::size_t i = first; i < first + count; ++i) expected[i] = set ? 1 : 0;
  }
  int all = 1;
  for (std::size_t i = 0; i < pages; ++i) {
    RC_ASSERT(read_mostly(memory + i * page, page) == expected[i]);
    all &= expected[i];
  }
  RC_ASSERT(read_mostly(memory, pages * page) == all);
  RC_ASSERT(driver.cuMemFree_v2(memory) == CUDA_SUCCESS);
}

TEST_F(ManagedAdvice, NewMemoryHasNoAdvice) {
  CUdeviceptr memory = 0;
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(driver.cuMemAllocManaged(&memory, page, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    EXPECT_EQ(read_mostly(memory, page), 0);
    EXPECT_EQ(driver.cuMemAdvise_v2(memory, page, CU_MEM_ADVISE_SET_READ_MOSTLY, device_0),
              CUDA_SUCCESS);
    EXPECT_EQ(read_mostly(memory, page), 1);
    EXPECT_EQ(driver.cuMemFree_v2(memory), CUDA_SUCCESS);
  }
}

// A page counts from its first prefetch until it is freed. It counts once, and does not reduce the
// memory available to others.
TEST_F(ManagedAdvice, PrefetchedPagesCountAgainstTheDevice) {
  constexpr std::size_t bytes = 64 * page;
  constexpr CUmemLocation host{CU_MEM_LOCATION_TYPE_HOST, 0};
  const std::size_t before = free_memory();
  CUdeviceptr memory = 0;
  ASSERT_EQ(driver.cuMemAllocManaged(&memory, bytes, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  const auto prefetch = [&](std::size_t first, std::size_t count, CUmemLocation to) {
    EXPECT_EQ(driver.cuMemPrefetchAsync_v2(memory + first * page, count * page, to, 0, nullptr),
              CUDA_SUCCESS);
  };
  prefetch(0, 64, host);
  EXPECT_EQ(free_memory(), before);
  prefetch(3, 2, device_0);
  EXPECT_EQ(free_memory(), before - 2 * page);
  prefetch(4, 4, device_0);
  EXPECT_EQ(free_memory(), before - 5 * page);
  prefetch(0, 64, host);
  EXPECT_EQ(free_memory(), before - 5 * page);
  prefetch(0, 64, device_0);
  EXPECT_EQ(free_memory(), before - bytes);
  CUdeviceptr all = 0;
  EXPECT_EQ(driver.cuMemAlloc_v2(&all, before), CUDA_SUCCESS);
  EXPECT_EQ(free_memory(), 0u);
  EXPECT_EQ(driver.cuMemFree_v2(all), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree_v2(memory), CUDA_SUCCESS);
  EXPECT_EQ(free_memory(), before);
}

TEST_F(ManagedAdvice, FailedAdviceChangesNothing) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(driver.cuMemAllocManaged(&memory, 4 * page, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  CUresult status = CUDA_ERROR_OUT_OF_MEMORY;
  for (int room = 0; status != CUDA_SUCCESS; ++room) {
    {
      const out_of_memory after{room};
      status = driver.cuMemAdvise_v2(memory + page, page, CU_MEM_ADVISE_SET_READ_MOSTLY, device_0);
    }
    EXPECT_EQ(read_mostly(memory + page, page), status == CUDA_SUCCESS ? 1 : 0);
    EXPECT_EQ(read_mostly(memory, 4 * page), 0);
  }
  EXPECT_EQ(driver.cuMemFree_v2(memory), CUDA_SUCCESS);
}

// Failed advice changes nothing, also in a range whose pages had different advice before.
TEST_F(ManagedAdvice, PartiallyFailedAdviceChangesNothing) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(driver.cuMemAllocManaged(&memory, 4 * page, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemAdvise_v2(memory + page, page, CU_MEM_ADVISE_SET_READ_MOSTLY, device_0),
            CUDA_SUCCESS);
  const auto accessed_by = [&](std::size_t first) {
    int value = -9;
    EXPECT_EQ(
        driver.cuMemRangeGetAttribute(&value, sizeof value, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY,
                                      memory + first * page, page),
        CUDA_SUCCESS);
    return value;
  };
  CUresult status = CUDA_ERROR_OUT_OF_MEMORY;
  int failures = 0;
  for (int room = 0; status != CUDA_SUCCESS; ++room) {
    {
      const out_of_memory after{room};
      status = driver.cuMemAdvise_v2(memory, 4 * page, CU_MEM_ADVISE_SET_ACCESSED_BY, device_0);
    }
    if (status != CUDA_SUCCESS) ++failures;
    const int expected = status == CUDA_SUCCESS ? 0 : CU_DEVICE_INVALID;
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_EQ(accessed_by(i), expected) << "page " << i << ", room " << room;
  }
  EXPECT_GT(failures, 0);
  EXPECT_EQ(driver.cuMemFree_v2(memory), CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
