// SPDX-License-Identifier: Apache-2.0
// poison_test.cpp - the address sanitizer detects accesses to pooled memory that is not allocated.
#include "os/poison.hpp"

#include "embedded/kernel/fibers/fiber_stacks.hpp"
#include "memory_fixture.hpp"

namespace weir::embedded {
namespace {

class Poison : public memory_test {
 protected:
  void SetUp() override {
    if (!os::asan_build) GTEST_SKIP() << "needs -fsanitize=address";
    memory_test::SetUp();
  }
  void TearDown() override {
    if (os::asan_build) memory_test::TearDown();
  }

  static CUdeviceptr allocate(std::size_t bytes, CUstream stream) {
    CUdeviceptr address = 0;
    EXPECT_EQ(driver.cuMemAllocAsync(&address, bytes, stream), CUDA_SUCCESS);
    return address;
  }
  static void release(CUdeviceptr address, CUstream stream) {
    EXPECT_EQ(driver.cuMemFreeAsync(address, stream), CUDA_SUCCESS);
  }
  static unsigned read(CUdeviceptr address) {
    return *reinterpret_cast<volatile unsigned char*>(address);
  }
};

TEST_F(Poison, MemoryFreedByAnIdleStreamIsPoisoned) {
  test_stream s;
  const CUdeviceptr a = allocate(1000, s);
  s.synchronize();
  (void)read(a);
  release(a, s);
  s.synchronize();
  EXPECT_DEATH((void)read(a), "use-after-poison");
  EXPECT_DEATH((void)read(a + 999), "use-after-poison");
}

// Work before the free may use the memory; work after the free may not.
TEST_F(Poison, MemoryFreedByABusyStreamIsPoisonedAfterItsWork) {
  test_stream s;
  const CUdeviceptr a = allocate(1000, s);
  {
    stream_gate gate{s};
    EXPECT_EQ(driver.cuMemsetD8Async(a, 7, 1000, s), CUDA_SUCCESS);
    release(a, s);
    (void)read(a);
    gate.open();
  }
  s.synchronize();
  EXPECT_DEATH((void)read(a), "use-after-poison");
}

TEST_F(Poison, MemoryFreedByTheHostIsPoisoned) {
  test_stream s;
  const CUdeviceptr a = allocate(1000, s);
  s.synchronize();
  EXPECT_EQ(driver.cuMemFree_v2(a), CUDA_SUCCESS);
  EXPECT_DEATH((void)read(a), "use-after-poison");
}

// Work of a stream that the free did not wait for is detected on the thread that runs it.
TEST_F(Poison, UnorderedWorkAfterAFreeIsDetected) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the driver's threads are needed in the child
  const auto late_set = [] {
    test_stream s, t;
    const CUdeviceptr a = allocate(1000, s);
    s.synchronize();
    stream_gate gate{t};
    EXPECT_EQ(driver.cuMemsetD8Async(a, 7, 1000, t), CUDA_SUCCESS);
    release(a, s);
    s.synchronize();
    gate.open();
    t.synchronize();
  };
  EXPECT_DEATH(late_set(), "use-after-poison");
  GTEST_FLAG_SET(death_test_style, "fast");
}

TEST_F(Poison, MemoryBehindABlockIsPoisoned) {
  test_stream s;
  const CUdeviceptr a = allocate(1000, s), b = allocate(512, s);
  s.synchronize();
  EXPECT_DEATH((void)read(a + 1000), "use-after-poison");
  EXPECT_DEATH((void)read(b + 512), "use-after-poison");
  release(a, s);
  release(b, s);
}

// The next owner of the memory may access all of it, also if it consists of several merged blocks.
TEST_F(Poison, MemoryOfTheNextOwnerIsNotPoisoned) {
  test_stream s;
  const CUdeviceptr first = allocate(1024, s), second = allocate(1024, s);
  release(first, s);
  release(second, s);
  s.synchronize();
  const CUdeviceptr whole = allocate(2048, s);
  EXPECT_EQ(driver.cuMemsetD8Async(whole, 7, 2048, s), CUDA_SUCCESS);
  s.synchronize();
  for (std::size_t i = 0; i < 2048; ++i) EXPECT_EQ(read(whole + i), 7u);
  release(whole, s);
}

// The addresses of a destroyed pool are not poisoned, because other mappings may reuse them.
TEST_F(Poison, AddressesReleasedByAPoolAreNotPoisoned) {
  test_stream s;
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemoryPool pool = nullptr;
  ASSERT_EQ(driver.cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
  CUdeviceptr a = 0;
  ASSERT_EQ(driver.cuMemAllocFromPoolAsync(&a, 1000, pool, s), CUDA_SUCCESS);
  release(a, s);
  EXPECT_EQ(driver.cuMemPoolDestroy(pool), CUDA_SUCCESS);
  s.synchronize();
  EXPECT_FALSE(os::is_poisoned(reinterpret_cast<void*>(a)));
}

// Abandoned fibers leave poisoned frames there, and an image may be mapped at those addresses next.
TEST_F(Poison, ReleasedStacksAreNotPoisoned) {
  void* at = nullptr;
  {
    kernel::fiber_stacks stacks;
    stacks.require(64 * 1024);
    const kernel::fiber_stack one = stacks.at(0);
    at = one.lowest;
    os::poison(one.lowest, one.bytes);
    EXPECT_TRUE(os::is_poisoned(at));
  }
  EXPECT_FALSE(os::is_poisoned(at));
}

}  // namespace
}  // namespace weir::embedded
