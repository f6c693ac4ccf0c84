// SPDX-License-Identifier: Apache-2.0
// memory_fixture.hpp - a current context, the device's free memory, and blocked streams.
#pragma once

#include <gmock/gmock.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "embedded/driver.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/core/thread_state.hpp"

namespace weir::embedded {

using namespace abi;

inline CUdeviceptr address_of(const void* pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}
inline auto* words_at(CUdeviceptr address) { return reinterpret_cast<std::uint32_t*>(address); }

inline CUcontext current_context() {
  CUcontext top = nullptr;
  EXPECT_EQ(driver.cuCtxGetCurrent(&top), CUDA_SUCCESS);
  return top;
}

inline constexpr CUmemLocation device_0{CU_MEM_LOCATION_TYPE_DEVICE, 0};
inline constexpr CUmemAccessDesc device_0_access{device_0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

// Base of memory tests: the primary context of device 0 is current, and each test frees all device
// memory that it allocates.
class memory_test : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(driver.cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuCtxSetCurrent(context_), CUDA_SUCCESS);
    free_before_ = free_memory();
  }
  void TearDown() override {
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(free_memory(), free_before_);
    EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    model::this_thread().stack.clear();
  }

  static std::size_t free_memory() {
    std::size_t free = 0;
    std::size_t total = 0;
    EXPECT_EQ(driver.cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
    EXPECT_LE(free, total);
    return free;
  }
  static model::device& device() { return *model::this_process().find_device(0); }

 private:
  CUcontext context_ = nullptr;
  std::size_t free_before_ = 0;
};

// A non-blocking stream.
class test_stream {
 public:
  test_stream() {
    EXPECT_EQ(driver.cuStreamCreate(&handle_, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }
  ~test_stream() { EXPECT_EQ(driver.cuStreamDestroy_v2(handle_), CUDA_SUCCESS); }
  test_stream(const test_stream&) = delete;
  test_stream& operator=(const test_stream&) = delete;

  operator CUstream() const { return handle_; }
  void synchronize() const { EXPECT_EQ(driver.cuStreamSynchronize(handle_), CUDA_SUCCESS); }

 private:
  CUstream handle_ = nullptr;
};

// Pinned memory, freed with this object.
class pinned_block {
 public:
  explicit pinned_block(std::size_t bytes) {
    EXPECT_EQ(driver.cuMemAllocHost_v2(&pointer_, bytes), CUDA_SUCCESS);
  }
  ~pinned_block() { EXPECT_EQ(driver.cuMemFreeHost(pointer_), CUDA_SUCCESS); }
  pinned_block(const pinned_block&) = delete;
  pinned_block& operator=(const pinned_block&) = delete;

  [[nodiscard]] void* get() const { return pointer_; }
  [[nodiscard]] CUdeviceptr address() const { return address_of(pointer_); }

 private:
  void* pointer_ = nullptr;
};

// Blocks a stream at this point until it is opened, at the latest by the destructor.
class stream_gate {
 public:
  explicit stream_gate(CUstream stream) : word_{sizeof(std::uint32_t)} {
    word() = 0;
    EXPECT_EQ(driver.cuStreamWaitValue32_v2(stream, word_.address(), 1, CU_STREAM_WAIT_VALUE_EQ),
              CUDA_SUCCESS);
  }
  ~stream_gate() { open(); }
  void open() { word().store(1); }

 private:
  std::atomic_ref<std::uint32_t> word() {
    return std::atomic_ref{*static_cast<std::uint32_t*>(word_.get())};
  }

  pinned_block word_;  // freeing it waits for the stream
};

}  // namespace weir::embedded
