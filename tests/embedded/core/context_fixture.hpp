// SPDX-License-Identifier: Apache-2.0
// context_fixture.hpp - contexts that a test creates and destroys.
#pragma once

#include <gmock/gmock.h>

#include <cstddef>

#include "embedded/memory/memory_fixture.hpp"
#include "embedded/model/core/thread_state.hpp"

namespace weir::embedded {

class context_test : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(driver.cuInit(0), CUDA_SUCCESS); }
  void TearDown() override {
    while (driver.cuDevicePrimaryCtxRelease_v2(0) == CUDA_SUCCESS) {
    }
    EXPECT_EQ(driver.cuDevicePrimaryCtxSetFlags_v2(0, 0), CUDA_SUCCESS);
    model::this_thread().stack.clear();
  }

  static CUcontext make(unsigned flags = 0) {
    CUcontext made = nullptr;
    EXPECT_EQ(driver.cuCtxCreate_v4(&made, nullptr, flags, 0), CUDA_SUCCESS);
    return made;
  }
  static CUcontext retain() {
    CUcontext primary = nullptr;
    EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    return primary;
  }
  static bool active() {
    unsigned flags = 0;
    int is_active = 0;
    EXPECT_EQ(driver.cuDevicePrimaryCtxGetState(0, &flags, &is_active), CUDA_SUCCESS);
    return is_active != 0;
  }
  static unsigned flags() {
    unsigned value = 99;
    EXPECT_EQ(driver.cuCtxGetFlags(&value), CUDA_SUCCESS);
    return value;
  }
  static std::size_t limit(CUlimit which) {
    std::size_t value = 99;
    EXPECT_EQ(driver.cuCtxGetLimit(&value, which), CUDA_SUCCESS);
    return value;
  }
};

}  // namespace weir::embedded
