// SPDX-License-Identifier: Apache-2.0
// pool_peer_test.cpp - copies of pool memory between devices. Skipped with a single device.
#include "memory_fixture.hpp"

#include <array>

namespace weir::embedded {
namespace {

constexpr std::size_t peer_bytes = 4096;

// Memory of a pool of device 1, with device 0's context current.
class PoolPeers : public memory_test {
 protected:
  void SetUp() override {
    memory_test::SetUp();
    int count = 0;
    ASSERT_EQ(driver.cuDeviceGetCount(&count), CUDA_SUCCESS);
    if (count < 2) GTEST_SKIP() << "one device";
    ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&there, 1), CUDA_SUCCESS);
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
    ASSERT_EQ(driver.cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuCtxPushCurrent_v2(there), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuMemAllocFromPoolAsync(&far, peer_bytes, pool, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuCtxPopCurrent_v2(nullptr), CUDA_SUCCESS);
  }
  void TearDown() override {
    if (there != nullptr) {
      EXPECT_EQ(driver.cuMemFree_v2(far), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuMemPoolDestroy(pool), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(1), CUDA_SUCCESS);
    }
    memory_test::TearDown();
  }

  void let(CUmemAccess_flags flags) const {
    const CUmemAccessDesc here{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, flags};
    EXPECT_EQ(driver.cuMemPoolSetAccess(pool, &here, 1), CUDA_SUCCESS);
  }

  // Returns the results of copies to and from other memory.
  [[nodiscard]] std::array<CUresult, 2> copies(CUdeviceptr other, CUstream in) const {
    const std::array answers{driver.cuMemcpyAsync(far, other, peer_bytes, in),
                             driver.cuMemcpyAsync(other, far, peer_bytes, in)};
    EXPECT_EQ(driver.cuStreamSynchronize(in), CUDA_SUCCESS);
    return answers;
  }

  CUcontext there = nullptr;
  CUmemoryPool pool = nullptr;
  CUdeviceptr far = 0;
};

// The tests of cuda.core and two H200s expect this: copies by address succeed between this memory
// and managed memory, or a pool of the current device.
TEST_F(PoolPeers, DevicesWithAccessCopyPoolMemory) {
  const test_stream s;
  CUdeviceptr managed = 0;
  ASSERT_EQ(driver.cuMemAllocManaged(&managed, peer_bytes, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  CUdeviceptr near = 0;
  ASSERT_EQ(driver.cuMemAllocAsync(&near, peer_bytes, s), CUDA_SUCCESS);
  for (const CUdeviceptr other : {managed, near}) {
    EXPECT_THAT(copies(other, s), testing::Each(CUDA_ERROR_INVALID_VALUE));
    let(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    EXPECT_THAT(copies(other, s), testing::Each(CUDA_SUCCESS));
    let(CU_MEM_ACCESS_FLAGS_PROT_NONE);
    EXPECT_THAT(copies(other, s), testing::Each(CUDA_ERROR_INVALID_VALUE));
  }
  EXPECT_EQ(driver.cuMemFreeAsync(near, s), CUDA_SUCCESS);
  s.synchronize();
  EXPECT_EQ(driver.cuMemFree_v2(managed), CUDA_SUCCESS);
}

TEST_F(PoolPeers, TheDeviceOfAPoolCopiesItsMemory) {
  CUdeviceptr managed = 0;
  ASSERT_EQ(driver.cuMemAllocManaged(&managed, peer_bytes, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuCtxPushCurrent_v2(there), CUDA_SUCCESS);
  EXPECT_THAT(copies(managed, nullptr), testing::Each(CUDA_SUCCESS));
  ASSERT_EQ(driver.cuCtxPopCurrent_v2(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree_v2(managed), CUDA_SUCCESS);
}

// All devices access managed memory, whichever device the pool's location is.
TEST_F(PoolPeers, AllDevicesCopyManagedMemory) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
  CUmemoryPool managed = nullptr;
  ASSERT_EQ(driver.cuMemPoolCreate(&managed, &props), CUDA_SUCCESS);
  const test_stream s;
  CUdeviceptr memory = 0;
  ASSERT_EQ(driver.cuMemAllocFromPoolAsync(&memory, peer_bytes, managed, s), CUDA_SUCCESS);
  CUdeviceptr near = 0;
  ASSERT_EQ(driver.cuMemAllocAsync(&near, peer_bytes, s), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemcpyAsync(memory, near, peer_bytes, s), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFreeAsync(near, s), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFreeAsync(memory, s), CUDA_SUCCESS);
  s.synchronize();
  EXPECT_EQ(driver.cuMemPoolDestroy(managed), CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
