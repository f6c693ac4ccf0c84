// SPDX-License-Identifier: Apache-2.0
// pool_fixture.hpp - pools for tests, and devices with little free memory.
#pragma once

#include "memory_fixture.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace weir::embedded {

constexpr std::size_t mega = std::size_t{1} << 20;

// A pool of the device that keeps its memory, unless the test changes the release threshold.
class test_pool {
 public:
  explicit test_pool(cuuint64_t threshold = ~cuuint64_t{0}, std::size_t max_bytes = 0) {
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    props.maxSize = max_bytes;
    EXPECT_EQ(driver.cuMemPoolCreate(&handle_, &props), CUDA_SUCCESS);
    set(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, threshold);
  }
  ~test_pool() {
    if (handle_ != nullptr) destroy();
  }
  test_pool(const test_pool&) = delete;
  test_pool& operator=(const test_pool&) = delete;

  void destroy() {
    EXPECT_EQ(driver.cuMemPoolDestroy(std::exchange(handle_, nullptr)), CUDA_SUCCESS);
  }

  template <class Value>
  void set(CUmemPool_attribute attribute, Value value) {
    EXPECT_EQ(driver.cuMemPoolSetAttribute(handle_, attribute, &value), CUDA_SUCCESS);
  }
  [[nodiscard]] cuuint64_t get(CUmemPool_attribute attribute) const {
    cuuint64_t value = 0;
    EXPECT_EQ(driver.cuMemPoolGetAttribute(handle_, attribute, &value), CUDA_SUCCESS);
    return value;
  }
  [[nodiscard]] cuuint64_t used() const { return get(CU_MEMPOOL_ATTR_USED_MEM_CURRENT); }
  [[nodiscard]] cuuint64_t reserved() const { return get(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT); }

  [[nodiscard]] CUmemoryPool handle() const { return handle_; }

  CUresult try_allocate(CUdeviceptr* address, std::size_t bytes, CUstream stream) {
    return driver.cuMemAllocFromPoolAsync(address, bytes, handle_, stream);
  }
  CUdeviceptr allocate(std::size_t bytes, CUstream stream) {
    CUdeviceptr address = 0;
    EXPECT_EQ(try_allocate(&address, bytes, stream), CUDA_SUCCESS);
    return address;
  }
  void trim(std::size_t keep) { EXPECT_EQ(driver.cuMemPoolTrimTo(handle_, keep), CUDA_SUCCESS); }

 private:
  CUmemoryPool handle_ = nullptr;
};

inline void release(CUdeviceptr address, CUstream stream) {
  EXPECT_EQ(driver.cuMemFreeAsync(address, stream), CUDA_SUCCESS);
}

class pool_test : public memory_test {
 protected:
  void SetUp() override {
    memory_test::SetUp();
    chunk = std::min(32 * mega, std::bit_floor(device().total_memory() / 8));
  }

  // Allocates all but `bytes` of the device's memory until the end of the test.
  void leave(std::size_t bytes) {
    taken_ = free_memory() - bytes;
    ASSERT_TRUE(device().reserve_memory(taken_));
  }
  void TearDown() override {
    device().release_memory(taken_);
    memory_test::TearDown();
  }

  std::size_t chunk = 0;  // what a pool reserves at a time

 private:
  std::size_t taken_ = 0;
};

}  // namespace weir::embedded
