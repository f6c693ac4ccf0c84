// SPDX-License-Identifier: Apache-2.0
// value_fixture.hpp - streams that wait for words of memory and write them.
#pragma once

#include "embedded/engine/value_waiters.hpp"
#include "embedded/memory/memory_fixture.hpp"

namespace weir::embedded {

class value_test : public memory_test {
 protected:
  void TearDown() override {
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(engine::value_waiter_count.load(), 0u);
    memory_test::TearDown();
  }
};

inline CUresult wait(CUstream stream, CUdeviceptr word, std::uint32_t value) {
  return driver.cuStreamWaitValue32_v2(stream, word, value, CU_STREAM_WAIT_VALUE_EQ);
}
inline CUresult write(CUstream stream, CUdeviceptr word, std::uint32_t value) {
  return driver.cuStreamWriteValue32_v2(stream, word, value, 0);
}

}  // namespace weir::embedded
