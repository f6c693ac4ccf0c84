// SPDX-License-Identifier: Apache-2.0
// memory_pool_capture_test.cpp - memory pools during captures.
#include <weir/memory/buffer.hpp>
#include <weir/memory/memory_pool.hpp>

#include <thread>

#include <gtest/gtest.h>

#include "api/core/call_restrictions.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/foreign_capture.hpp"

namespace weir {
namespace {

using detail::driver;
using detail::driver_table;
using detail::fault_table;
using test::result_of;

class MemoryPoolCapture : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 1 << 14;
  static constexpr std::size_t mebibyte = 1 << 20;

  device gpu;
  stream s{gpu};
  stream t{gpu};
};

// The retry waits for frees, and the wait would break captures.
TEST_F(MemoryPoolCapture, AnAllocationIsNotRetriedDuringACapture) {
  const memory_pool pool{gpu, {.max_size = 64 * mebibyte}};
  fault_table calls;
  {
    const detail::scoped_active_capture somewhere;
    EXPECT_EQ(result_of([&] { static_cast<void>(pool.retrying().allocate(s, 128 * mebibyte)); }),
              errc::out_of_memory);
  }
  test::foreign_capture foreign{s};
  calls.fail(&driver_table::cuMemAllocFromPoolAsync, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(result_of([&] { static_cast<void>(pool.retrying().allocate(s, size)); }),
            errc::out_of_memory);
  EXPECT_EQ(calls.count(&driver_table::cuCtxRecordEvent), 0);
  EXPECT_TRUE(foreign.end()) << "the capture stays valid";
}

// Rule 170: calls that a driver considers unsafe break no capture, in any mode.
TEST_F(MemoryPoolCapture, PoolOperationsBreakNoCapture) {
  for (const auto mode :
       {abi::CU_STREAM_CAPTURE_MODE_GLOBAL, abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
    test::foreign_capture foreign{s, mode};
    {
      memory_pool pool{gpu, {.release_threshold = 1, .reuse = {.opportunistic = false}}};
      const memory_pool other{gpu};
      pool.set_release_threshold(pool.release_threshold() + 1);
      pool.set_reuse(pool.reuse());
      static_cast<void>(pool.usage());
      pool.reset_high_watermarks();
      pool.trim();
      pool.set_access(gpu, pool.access(gpu));
      { const memory_pool_scope current{pool}; }
      pool.close();
    }
    EXPECT_TRUE(foreign.end());
  }
}

// Rule 170: another stream can allocate and free memory during a capture that weir began.
TEST_F(MemoryPoolCapture, AllocatingBesideAWeirCaptureDoesNotBreakIt) {
  const memory_pool pool{gpu};
  for (const auto mode :
       {abi::CU_STREAM_CAPTURE_MODE_GLOBAL, abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
    const detail::scoped_active_capture ours;
    test::foreign_capture foreign{s, mode};
    pool.deallocate(t, pool.allocate(t, size));
    buffer<int> x{pool, t, size};
    buffer<int> y{t, size};
    x.close();
    y.close(stream_ref{t});
    EXPECT_TRUE(foreign.end());
  }
}

// If the capture was begun elsewhere, the driver decides, as documented for allocate().
TEST_F(MemoryPoolCapture, AllocatingBesideAForeignCaptureFollowsTheDriver) {
  const memory_pool pool{gpu};
  const auto capture_while = [&](abi::CUstreamCaptureMode mode, auto work) {
    test::foreign_capture foreign{s, mode};
    work();
    return foreign.end();
  };
  errc result = errc::success;
  const auto allocate = [&] {
    result = result_of([&] { pool.deallocate(t, pool.allocate(t, size)); });
  };
  EXPECT_FALSE(capture_while(abi::CU_STREAM_CAPTURE_MODE_GLOBAL, allocate));
  EXPECT_EQ(result, errc::stream_capture_unsupported);
  EXPECT_FALSE(capture_while(abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, allocate));
  EXPECT_EQ(result, errc::stream_capture_unsupported);
  EXPECT_TRUE(capture_while(abi::CU_STREAM_CAPTURE_MODE_RELAXED, allocate));
  EXPECT_EQ(result, errc::success);
  const auto in_another_thread = [&] { std::thread{allocate}.join(); };
  EXPECT_FALSE(capture_while(abi::CU_STREAM_CAPTURE_MODE_GLOBAL, in_another_thread));
  EXPECT_EQ(result, errc::stream_capture_unsupported);
  EXPECT_TRUE(capture_while(abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, in_another_thread));
  EXPECT_EQ(result, errc::success);
}

// The thread's own capture mode does not change, even if a call fails.
TEST_F(MemoryPoolCapture, TheCaptureModeOfTheThreadIsUnchanged) {
  abi::CUstreamCaptureMode mode = abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
  ASSERT_EQ(driver().cuThreadExchangeStreamCaptureMode(&mode), abi::CUDA_SUCCESS);
  const memory_pool pool{gpu};
  EXPECT_NE(result_of([&] { pool.set_access(device{999}, pool_access::read_write); }),
            errc::success);
  ASSERT_EQ(driver().cuThreadExchangeStreamCaptureMode(&mode), abi::CUDA_SUCCESS);
  EXPECT_EQ(mode, abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

}  // namespace
}  // namespace weir
