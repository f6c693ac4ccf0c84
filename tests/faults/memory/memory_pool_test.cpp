// SPDX-License-Identifier: Apache-2.0
// memory_pool_test.cpp - memory pools with failing driver calls.
#include <weir/core/deferred.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/memory_pool.hpp>

#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"

namespace weir {
namespace {

using detail::driver;
using test::driver_table;
using test::every_call_may_fail;
using test::failure_of;
using test::fault_table;
using test::result_of;
using test::unhandled_errors;

class MemoryPoolFaults : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 1000;

  device gpu;
  stream s{gpu};
};

// Rule 164: a pool whose options could not be set is destroyed.
TEST_F(MemoryPoolFaults, CreatingAMemoryPoolReportsEachFailedCall) {
  every_call_may_fail([&] { return memory_pool{gpu}; });
  every_call_may_fail([&] {
    return memory_pool{gpu,
                       {.release_threshold = 1, .reuse = {.follow_event_dependencies = false}}};
  });
  every_call_may_fail([&] { return memory_pool{gpu, {.memory = pool_memory::pinned}}; });
  if (gpu.attribute(device_attribute::concurrent_managed_access) == 0) return;
  every_call_may_fail([&] {
    return memory_pool{gpu, {.memory = pool_memory::managed, .release_threshold = 1}};
  });
}

TEST_F(MemoryPoolFaults, AllocatingFromAMemoryPoolReportsEachFailedCall) {
  const memory_pool pool{gpu};
  every_call_may_fail([&] { return buffer<char>{pool, s, size}; });
  every_call_may_fail(
      [&] { return buffer<char>::adopt(s, static_cast<char*>(pool.allocate(s, size)), size); });
}

TEST_F(MemoryPoolFaults, PoolQueriesAndSettingsReportEachFailedCall) {
  const memory_pool pool{gpu};
  every_call_may_fail([&] { static_cast<void>(pool.release_threshold()); });
  every_call_may_fail([&] { pool.set_release_threshold(1); });
  every_call_may_fail([&] { static_cast<void>(pool.usage()); });
  every_call_may_fail([&] { pool.reset_high_watermarks(); });
  every_call_may_fail([&] { static_cast<void>(pool.reuse()); });
  every_call_may_fail([&] { pool.set_reuse({}); });
  every_call_may_fail([&] { pool.trim(); });
  every_call_may_fail([&] { static_cast<void>(pool.access(gpu)); });
  every_call_may_fail([&] { pool.set_access(gpu, pool_access::read_write); });
}

TEST_F(MemoryPoolFaults, DevicePoolFunctionsReportEachFailedCall) {
  const memory_pool pool{gpu};
  every_call_may_fail([&] { static_cast<void>(default_memory_pool(gpu)); });
  every_call_may_fail([&] { static_cast<void>(current_memory_pool(gpu)); });
  every_call_may_fail([&] { set_current_memory_pool(pool); });
  set_current_memory_pool(default_memory_pool(gpu));
}

TEST_F(MemoryPoolFaults, AMemoryPoolScopeThatCannotBeginChangesNothing) {
  const memory_pool pool{gpu};
  fault_table faults;
  faults.fail(&driver_table::cuDeviceSetMemPool, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  EXPECT_EQ(result_of([&] { const memory_pool_scope current{pool}; }), errc::system_not_ready);
  EXPECT_EQ(faults.count(&driver_table::cuDeviceSetMemPool), 1);
  EXPECT_EQ(current_memory_pool(gpu), default_memory_pool(gpu));
}

TEST_F(MemoryPoolFaults, AFailureToEndAMemoryPoolScopeReachesTheErrorHandler) {
  const memory_pool pool{gpu};
  const unhandled_errors unhandled;
  fault_table faults;
  {
    const memory_pool_scope current{pool};
    faults.fail(&driver_table::cuDeviceSetMemPool, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  }
  ASSERT_EQ(unhandled.errors().size(), 1u);
  EXPECT_STREQ(unhandled.errors()[0].call(), "cuDeviceSetMemPool");
  set_current_memory_pool(default_memory_pool(gpu));
}

// Rules 160 and 161.
TEST_F(MemoryPoolFaults, AFailureInADestructorReachesTheErrorHandler) {
  const unhandled_errors unhandled;
  fault_table faults;
  std::optional<memory_pool> pool{std::in_place, gpu};
  CUmemPoolHandle_st* const handle = pool->get();
  faults.fail(&driver_table::cuMemPoolDestroy, 1, abi::CUDA_ERROR_INVALID_CONTEXT);
  pool.reset();
  ASSERT_EQ(unhandled.errors().size(), 1u);
  EXPECT_EQ(unhandled.errors()[0].result(), errc::invalid_context);
  EXPECT_STREQ(unhandled.errors()[0].call(), "cuMemPoolDestroy");
  faults.fail(&driver_table::cuMemPoolDestroy, 1, abi::CUDA_ERROR_DEINITIALIZED);
  { const memory_pool gone = memory_pool::adopt(handle, gpu); }
  EXPECT_EQ(unhandled.count(), 1u) << "a driver shutdown is no failure";
  EXPECT_EQ(driver().cuMemPoolDestroy(handle), abi::CUDA_SUCCESS);
}

TEST_F(MemoryPoolFaults, AFailedCloseThrowsAndClosesThePool) {
  memory_pool pool{gpu};
  CUmemPoolHandle_st* const handle = pool.get();
  fault_table faults;
  faults.fail(&driver_table::cuMemPoolDestroy, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  EXPECT_EQ(result_of([&] { pool.close(); }), errc::system_not_ready);
  EXPECT_TRUE(pool.closed());
  EXPECT_EQ(driver().cuMemPoolDestroy(handle), abi::CUDA_SUCCESS);
}

TEST_F(MemoryPoolFaults, ARetryingPoolRepeatsAFailedAllocation) {
  const memory_pool pool{gpu};
  fault_table faults;
  faults.fail(&driver_table::cuMemAllocFromPoolAsync, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
  const buffer<char> x{pool.retrying(1), s, size};
  EXPECT_EQ(faults.count(&driver_table::cuMemAllocFromPoolAsync), 2);
}

// A retrying pool waits only if memory ran out.
TEST_F(MemoryPoolFaults, ARetryingPoolReportsOtherFailuresAtOnce) {
  const memory_pool pool{gpu};
  fault_table faults;
  faults.fail(&driver_table::cuMemAllocFromPoolAsync, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(result_of([&] {
              const buffer<char> x{pool.retrying(), s, size};
            }),
            errc::launch_failed);
  EXPECT_EQ(faults.count(&driver_table::cuMemAllocFromPoolAsync), 1);
  faults.fail(&driver_table::cuMemAllocFromPoolAsync, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
  faults.fail(&driver_table::cuCtxRecordEvent, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
  const auto failure = failure_of([&] { const buffer<char> x{pool.retrying(), s, size}; });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::launch_failed);
  EXPECT_STREQ(failure->call(), "cuCtxRecordEvent");
}

}  // namespace
}  // namespace weir
