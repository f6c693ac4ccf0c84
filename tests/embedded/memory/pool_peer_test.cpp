// pool_peer_test.cpp - memory of pools between devices: who copies it. Where there is one device,
// nobody is asked.
#include "memory_fixture.hpp"

#include <array>

namespace weir::embedded {
namespace {

constexpr std::size_t peer_bytes = 4096;

// Memory of a pool of device 1; device 0's context is current.
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

  // What copies of it to and from other memory answer.
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

// What cuda.core's own tests expect of GPUs, and two H200s answer: copies by address between it and
// managed memory, or a pool of the current device.
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

// Managed memory is reached by all, whichever device its pool's place is.
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
