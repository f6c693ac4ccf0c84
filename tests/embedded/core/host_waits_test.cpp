// SPDX-License-Identifier: Apache-2.0
// host_waits_test.cpp - which calls wait for held work with WEIR_EMBEDDED_WAITS=least.
#include "embedded/model/core/host_waits.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "embedded/memory/linear_fixture.hpp"

namespace weir::embedded {
namespace {

using testing::Each;

// The tests call in the thread that holds the stream, so a call that waited would never return.
class LeastWaits : public linear_test {
 protected:
  void SetUp() override {
    linear_test::SetUp();
    before_ = model::configured_host_waits;
    model::configured_host_waits = model::host_waits::least;
  }
  void TearDown() override {
    linear_test::TearDown();
    model::configured_host_waits = before_;
  }

 private:
  model::host_waits before_{};
};

TEST_F(LeastWaits, AFreeReturnsWhileWorkUsesTheMemory) {
  test_stream s;
  const CUdeviceptr source = allocate(64);
  const CUdeviceptr target = allocate(64);
  {
    stream_gate gate{s};
    ASSERT_EQ(driver.cuMemsetD8Async(source, 7, 64, s), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuMemcpyDtoDAsync_v2(target, source, 64, s), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemFree_v2(source), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemFree_v2(source), CUDA_ERROR_INVALID_VALUE);
  }
  s.synchronize();
  EXPECT_THAT(contents(target, 64), Each(7));  // the work still had the memory
  release(target);
}

TEST_F(LeastWaits, FreesOfHostMemoryReturnWhileAStreamIsHeld) {
  test_stream s;
  void* pinned = nullptr;
  CUdeviceptr managed = 0;
  std::vector<unsigned char> own(1 << 16);
  ASSERT_EQ(driver.cuMemAllocHost_v2(&pinned, 64), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemHostRegister_v2(own.data(), own.size(), 0), CUDA_SUCCESS);
  stream_gate gate{s};
  EXPECT_EQ(driver.cuMemFreeHost(pinned), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree_v2(managed), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemHostUnregister(own.data()), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemHostRegister_v2(own.data(), own.size(), 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemHostUnregister(own.data()), CUDA_SUCCESS);
}

TEST_F(LeastWaits, ADestroyedArrayIsGoneAtOnce) {
  test_stream s;
  const CUDA_ARRAY_DESCRIPTOR shape{16, 16, CU_AD_FORMAT_UNSIGNED_INT8, 1};
  CUarray made = nullptr;
  ASSERT_EQ(driver.cuArrayCreate_v2(&made, &shape), CUDA_SUCCESS);
  stream_gate gate{s};
  EXPECT_EQ(driver.cuArrayDestroy(made), CUDA_SUCCESS);
  CUDA_ARRAY_DESCRIPTOR out{};
  EXPECT_EQ(driver.cuArrayGetDescriptor_v2(&out, made), CUDA_ERROR_INVALID_HANDLE);
}

// A program may free memory and allocate as much again.
TEST_F(LeastWaits, FreedMemoryNoLongerCountsAgainstItsDevice) {
  test_stream s;
  const std::size_t most = free_memory() / 4 * 3;
  stream_gate gate{s};
  release(allocate(most));
  release(allocate(most));
}

TEST_F(LeastWaits, CopiesOfPageableMemoryReturnAndReadTheSourceInStreamOrder) {
  test_stream s;
  const CUdeviceptr address = allocate(64);
  std::vector<unsigned char> source(64, 1);
  std::vector<unsigned char> target(64, 0);
  {
    stream_gate gate{s};
    EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(address, source.data(), 64, s), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyDtoHAsync_v2(target.data(), address, 64, s), CUDA_SUCCESS);
    std::ranges::fill(source, static_cast<unsigned char>(2));
    EXPECT_THAT(target, Each(0));
  }
  s.synchronize();
  EXPECT_THAT(target, Each(2));
  release(address);
}

// A source that is read during the call is read at once, whatever its size.
TEST_F(LeastWaits, ABatchWaitsForNoSource) {
  const struct {
    CUmemcpySrcAccessOrder order;
    unsigned char copied;
  } cases[] = {{CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, 2},
               {CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL, 1},
               {CU_MEMCPY_SRC_ACCESS_ORDER_ANY, 2}};
  test_stream s;
  for (std::size_t bytes : {std::size_t{4}, std::size_t{3} << 20}) {
    CUdeviceptr address = allocate(bytes);
    for (const auto& [order, copied] : cases) {
      std::vector<unsigned char> source(bytes, 1);
      CUdeviceptr from = address_of(source.data());
      CUmemcpyAttributes attributes{};
      attributes.srcAccessOrder = order;
      std::size_t first = 0;
      {
        stream_gate gate{s};
        EXPECT_EQ(
            driver.cuMemcpyBatchAsync_v2(&address, &from, &bytes, 1, &attributes, &first, 1, s),
            CUDA_SUCCESS);
        std::ranges::fill(source, static_cast<unsigned char>(2));
      }
      s.synchronize();
      EXPECT_THAT(contents(address, bytes), Each(copied)) << order << ' ' << bytes;
    }
    release(address);
  }
}

}  // namespace
}  // namespace weir::embedded
