// SPDX-License-Identifier: Apache-2.0
// managed_memory_test.cpp - managed memory with failing driver calls.
#include <weir/core/deferred.hpp>
#include <weir/memory/managed_buffer.hpp>

#include <array>
#include <span>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"

namespace weir {
namespace {

using test::driver_table;
using test::every_call_may_fail;
using test::failure_of;
using test::fault_table;
using test::unhandled_errors;

class ManagedMemoryFaults : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 1000;

  void SetUp() override {
    if (gpu.attribute(device_attribute::concurrent_managed_access) == 0)
      GTEST_SKIP() << "no concurrent access";
  }

  device gpu;
  stream s{gpu};
};

// Rule 164.
TEST_F(ManagedMemoryFaults, CreatingAManagedBufferReportsEachFailedCall) {
  every_call_may_fail([&] { return managed_buffer<int>{size}; });
}

TEST_F(ManagedMemoryFaults, ManagedMemoryOperationsReportEachFailedCall) {
  managed_buffer<int> x{size};
  const std::array<std::span<int>, 1> ranges{std::span{x.data(), size}};
  every_call_may_fail([&] { prefetch(s, x, gpu); });
  every_call_may_fail([&] { prefetch_each(s, ranges, gpu); });
  every_call_may_fail([&] { discard(s, x); });
  every_call_may_fail([&] { discard_and_prefetch(s, x, gpu); });
  every_call_may_fail([&] { advise(x, memory_advice::read_mostly); });
  every_call_may_fail([&] { attach(s, x, attachment::global); });
  every_call_may_fail([&] { static_cast<void>(state_of(x)); });
  s.sync();
}

// Rule 160.
TEST_F(ManagedMemoryFaults, AFailureInADestructorReachesTheErrorHandler) {
  const unhandled_errors unhandled;
  abi::CUdeviceptr address = 0;
  {
    fault_table faults;
    faults.fail(&driver_table::cuMemFree_v2, 1, abi::CUDA_ERROR_INVALID_CONTEXT);
    {
      managed_buffer<int> x{size};
      address = reinterpret_cast<std::uintptr_t>(x.data());
    }
    drain_deferred();
  }
  ASSERT_EQ(unhandled.errors().size(), 1u);
  EXPECT_EQ(unhandled.errors()[0].result(), errc::invalid_context);
  EXPECT_STREQ(unhandled.errors()[0].call(), "cuMemFree");
  EXPECT_EQ(detail::driver().cuMemFree_v2(address), abi::CUDA_SUCCESS);
}

TEST_F(ManagedMemoryFaults, AFailedCloseThrowsAndClosesTheBuffer) {
  managed_buffer<int> x{size};
  x.used_on(s);
  fault_table faults;
  faults.fail(&driver_table::cuStreamSynchronize, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
  const auto failure = failure_of([&] { x.close(); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::launch_failed);
  EXPECT_TRUE(x.closed());
  s.sync();
}

}  // namespace
}  // namespace weir
