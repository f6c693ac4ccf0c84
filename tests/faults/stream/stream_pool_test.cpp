// SPDX-License-Identifier: Apache-2.0
// stream_pool_test.cpp - stream pools with failing driver calls.
#include <weir/stream/stream_pool.hpp>

#include <optional>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::driver_table;
using test::every_call_may_fail;
using test::failure_of;
using test::fault_table;
using test::result_of;

class StreamPoolFaults : public ::testing::Test {
 protected:
  device gpu;
};

// Rule 164.
TEST_F(StreamPoolFaults, CreatingAStreamPoolReportsEachFailedCall) {
  every_call_may_fail([&] { return stream_pool{gpu, {{.name = "a"}, {.name = "b"}}}; });
}

// A failed acquire does not change the pool: nothing is lent, and a later attempt succeeds.
TEST_F(StreamPoolFaults, AcquiringALeaseReportsEachFailedCall) {
  const stream_pool pool{gpu, {.limit = 1}};
  every_call_may_fail([&] { return pool.acquire(); });
  every_call_may_fail([&] { static_cast<void>(pool.next()); });
  EXPECT_EQ(pool.count().leased, 0u);
  EXPECT_EQ(result_of([&] { static_cast<void>(pool.acquire()); }), errc::success);
}

TEST_F(StreamPoolFaults, AFailedStreamCreationDoesNotCountAsCreated) {
  const stream_pool pool{gpu, {.limit = 3}};
  const stream_lease first = pool.acquire();
  {
    fault_table faults;
    faults.fail(&driver_table::cuStreamCreateWithPriority, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(result_of([&] { static_cast<void>(pool.acquire()); }), errc::out_of_memory);
  }
  EXPECT_EQ(pool.count().created, 1u);
  const stream_lease second = pool.acquire();
  EXPECT_EQ(pool.count().created, 2u);
}

// Another stream of the pool is busy and is returned as before.
TEST_F(StreamPoolFaults, AFailedStreamCreationBesideABusyStreamLendsNothing) {
  const stream_pool pool{gpu, {.limit = 2}};
  test::gate held{pool.acquire()};
  fault_table faults;
  faults.fail(&driver_table::cuStreamCreateWithPriority, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(result_of([&] { static_cast<void>(pool.acquire()); }), errc::out_of_memory);
  EXPECT_EQ(pool.count().leased, 0u);
  held.open();
}

// The next lease reports a lost context, and the pool keeps the stream.
TEST_F(StreamPoolFaults, ALostContextIsReported) {
  const stream_pool pool{gpu, {.limit = 1}};
  fault_table faults;
  faults.fail(&driver_table::cuStreamQuery, 1, abi::CUDA_ERROR_ILLEGAL_ADDRESS);
  const auto failure = failure_of([&] { static_cast<void>(pool.acquire()); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::illegal_address);
  EXPECT_EQ(pool.count().leased, 0u);
  EXPECT_EQ(pool.count().created, 1u);
}

TEST_F(StreamPoolFaults, AFailureInADestructorReachesTheErrorHandler) {
  const test::unhandled_errors unhandled;
  CUstream_st* raw = nullptr;
  {
    fault_table faults;
    faults.fail(&driver_table::cuStreamDestroy_v2, 1, abi::CUDA_ERROR_INVALID_CONTEXT);
    const stream_pool pool{gpu};
    raw = pool.next().get();
  }
  ASSERT_EQ(unhandled.errors().size(), 1u);
  EXPECT_EQ(unhandled.errors()[0].result(), errc::invalid_context);
  EXPECT_EQ(detail::driver().cuStreamDestroy_v2(raw), abi::CUDA_SUCCESS)
      << "the call did not reach the driver";
}

}  // namespace
}  // namespace weir
