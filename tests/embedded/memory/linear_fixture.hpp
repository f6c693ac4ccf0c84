// SPDX-License-Identifier: Apache-2.0
// linear_fixture.hpp - linear memory for tests: allocate, read, free.
#pragma once

#include "memory_fixture.hpp"

#include <vector>

namespace weir::embedded {

class linear_test : public memory_test {
 protected:
  static CUdeviceptr allocate(std::size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(driver.cuMemAlloc_v2(&address, bytes), CUDA_SUCCESS);
    return address;
  }
  static void release(CUdeviceptr address) {
    EXPECT_EQ(driver.cuMemFree_v2(address), CUDA_SUCCESS);
  }

  static std::vector<unsigned char> contents(CUdeviceptr address, std::size_t bytes) {
    std::vector<unsigned char> out(bytes);
    EXPECT_EQ(driver.cuMemcpyDtoH_v2(out.data(), address, bytes), CUDA_SUCCESS);
    return out;
  }
};

}  // namespace weir::embedded
