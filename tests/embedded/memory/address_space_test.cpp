// SPDX-License-Identifier: Apache-2.0
// address_space_test.cpp - reserved addresses, and allocations mapped there.
#include <cstddef>
#include <filesystem>
#include <iterator>

#include "embedded/memory/memory_fixture.hpp"

namespace weir::embedded {
namespace {

constexpr std::size_t piece = std::size_t{2} << 20;

class AddressSpace : public memory_test {
 protected:
  static CUdeviceptr reserve(std::size_t bytes) {
    CUdeviceptr start = 0;
    EXPECT_EQ(driver.cuMemAddressReserve(&start, bytes, 0, 0, 0), CUDA_SUCCESS);
    return start;
  }
  static CUmemGenericAllocationHandle create(
      std::size_t bytes,
      CUmemAllocationHandleType handles = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    CUmemAllocationProp wanted{};
    wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.requestedHandleTypes = handles;
    wanted.location = device_0;
    CUmemGenericAllocationHandle made = 0;
    EXPECT_EQ(driver.cuMemCreate(&made, bytes, &wanted, 0), CUDA_SUCCESS);
    return made;
  }
  static void map(CUdeviceptr at, std::size_t bytes, CUmemGenericAllocationHandle memory) {
    EXPECT_EQ(driver.cuMemMap(at, bytes, 0, memory, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemSetAccess(at, bytes, &device_0_access, 1), CUDA_SUCCESS);
  }
  static void unmap(CUdeviceptr at, std::size_t bytes) {
    EXPECT_EQ(driver.cuMemUnmap(at, bytes), CUDA_SUCCESS);
  }
  static void give_back(CUdeviceptr start, std::size_t bytes) {
    EXPECT_EQ(driver.cuMemAddressFree(start, bytes), CUDA_SUCCESS);
  }
  static void release(CUmemGenericAllocationHandle memory) {
    EXPECT_EQ(driver.cuMemRelease(memory), CUDA_SUCCESS);
  }
};

// An allocation counts from its creation until its last handle and mapping are released; reserved
// addresses do not count.
TEST_F(AddressSpace, AnAllocationCountsUntilItsLastUserReleasesIt) {
  const std::size_t free = free_memory();
  const CUdeviceptr range = reserve(64 * piece);
  EXPECT_EQ(free_memory(), free);
  const auto memory = create(2 * piece);
  EXPECT_EQ(free_memory(), free - 2 * piece);
  map(range, 2 * piece, memory);
  map(range + 2 * piece, 2 * piece, memory);
  release(memory);
  EXPECT_EQ(free_memory(), free - 2 * piece);
  unmap(range, 2 * piece);
  EXPECT_EQ(free_memory(), free - 2 * piece);
  unmap(range + 2 * piece, 2 * piece);
  EXPECT_EQ(free_memory(), free);
  give_back(range, 64 * piece);
}

// File descriptors are scarce, so an allocation that is not shared uses none. It can still be
// mapped at several addresses.
TEST_F(AddressSpace, OnlySharedAllocationsHaveADescriptor) {
  const auto open_descriptors = [] {
    const std::filesystem::directory_iterator all{"/proc/self/fd"};
    return std::distance(begin(all), end(all));
  };
  const auto before = open_descriptors();
  const CUdeviceptr range = reserve(2 * piece);
  const auto memory = create(piece, CU_MEM_HANDLE_TYPE_NONE);
  map(range, piece, memory);
  map(range + piece, piece, memory);
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(driver.cuMemsetD32_v2(range + 64, 7, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(words_at(range + piece)[16], 7u);
  unmap(range, 2 * piece);
  map(range, piece, memory);
  EXPECT_EQ(words_at(range)[16], 7u) << "it is kept while it is mapped nowhere";
  unmap(range, piece);
  const auto shared = create(piece);
  EXPECT_EQ(open_descriptors(), before + 1);
  release(shared);
  release(memory);
  EXPECT_EQ(open_descriptors(), before);
  give_back(range, 2 * piece);
}

TEST_F(AddressSpace, AnAllocationLargerThanTheDeviceIsRefused) {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location = device_0;
  CUmemGenericAllocationHandle made = 0;
  const std::size_t most = free_memory() / piece * piece;
  EXPECT_EQ(driver.cuMemCreate(&made, most + piece, &wanted, 0), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(AddressSpace, AStreamWorksAcrossMappings) {
  const CUdeviceptr range = reserve(2 * piece);
  const auto one = create(piece);
  const auto two = create(piece);
  map(range, piece, one);
  map(range + piece, piece, two);
  const test_stream s;
  EXPECT_EQ(driver.cuMemsetD32Async(range, 7, 2 * piece / 4, s), CUDA_SUCCESS);
  s.synchronize();
  EXPECT_EQ(words_at(range + piece)[-1], 7u);
  EXPECT_EQ(words_at(range + piece)[0], 7u);
  EXPECT_EQ(driver.cuMemsetD32Async(range, 7, 2 * piece / 4 + 1, s), CUDA_ERROR_INVALID_VALUE);
  unmap(range, 2 * piece);
  EXPECT_EQ(driver.cuMemsetD32Async(range, 7, 1, s), CUDA_ERROR_INVALID_VALUE);
  release(one);
  release(two);
  give_back(range, 2 * piece);
}

// A thread's cached entry does not hide a newer mapping at the address.
TEST_F(AddressSpace, AnAddressIsCheckedAgainstItsCurrentMapping) {
  const CUdeviceptr range = reserve(2 * piece);
  const auto large = create(2 * piece);
  const auto small = create(piece);
  map(range, 2 * piece, large);
  EXPECT_EQ(driver.cuMemsetD8_v2(range, 1, 2 * piece), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  unmap(range, 2 * piece);
  map(range, piece, small);
  EXPECT_EQ(driver.cuMemsetD8_v2(range, 1, 2 * piece), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemsetD8_v2(range, 1, piece), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  unmap(range, piece);
  release(large);
  release(small);
  give_back(range, 2 * piece);
}

// With these sizes the end address overflows.
TEST_F(AddressSpace, ASizeThatOverflowsIsRefused) {
  const CUdeviceptr range = reserve(2 * piece);
  const auto memory = create(piece);
  map(range, piece, memory);
  map(range + piece, piece, memory);
  for (const CUdeviceptr back : {CUdeviceptr{1}, CUdeviceptr{piece}, CUdeviceptr{piece + 1},
                                 CUdeviceptr{2 * piece}, range + piece}) {
    EXPECT_EQ(driver.cuMemUnmap(range + piece, 0 - back), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(driver.cuMemSetAccess(range + piece, 0 - back, &device_0_access, 1),
              CUDA_ERROR_INVALID_VALUE);
  }
  unmap(range, 2 * piece);
  release(memory);
  give_back(range, 2 * piece);
}

TEST_F(AddressSpace, ReleasedHandlesAreRefused) {
  const auto memory = create(piece);
  release(memory);
  CUmemAllocationProp prop{};
  int descriptor = -1;
  EXPECT_NE(driver.cuMemRelease(memory), CUDA_SUCCESS);
  EXPECT_NE(driver.cuMemGetAllocationPropertiesFromHandle(&prop, memory), CUDA_SUCCESS);
  EXPECT_NE(driver.cuMemExportToShareableHandle(&descriptor, memory,
                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(descriptor, -1);
}

// The address is only a hint, but its alignment is required.
TEST_F(AddressSpace, AMisalignedAddressHintIsRefused) {
  constexpr std::size_t alignment = 512 * piece;
  CUdeviceptr free = 0;
  ASSERT_EQ(driver.cuMemAddressReserve(&free, 2 * alignment, alignment, 0, 0), CUDA_SUCCESS);
  give_back(free, 2 * alignment);
  CUdeviceptr start = 0;
  EXPECT_EQ(driver.cuMemAddressReserve(&start, piece, alignment, free + piece, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(start, 0u);
}

}  // namespace
}  // namespace weir::embedded
