// SPDX-License-Identifier: Apache-2.0
// event_test.cpp - events with failing driver calls.
#include <weir/device/context.hpp>
#include <weir/event/event.hpp>
#include <weir/stream/stream.hpp>

#include <chrono>
#include <string>

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

class EventFaults : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
};

// Rule 164.
TEST_F(EventFaults, CreatingAnEventReportsEachFailedCall) {
  every_call_may_fail([&] { return event{gpu}; });
  every_call_may_fail([&] { return timed_event{gpu, {.blocking_sync = true}}; });
}

TEST_F(EventFaults, QueryingAndWaitingForAnEventReportEachFailedCall) {
  const event e = s.record();
  every_call_may_fail([&] { static_cast<void>(e.done()); });
  every_call_may_fail([&] { e.sync(); });
  every_call_may_fail([&] { static_cast<void>(e.sync_for(std::chrono::hours{1})); });
}

TEST_F(EventFaults, QueryingTheElapsedTimeReportsEachFailedCall) {
  const timed_event a = s.record_timed();
  const timed_event b = s.record_timed();
  every_call_may_fail([&] { static_cast<void>(sync_elapsed(a, b)); });
}

// Drivers before CUDA 12.8 have only the older function.
TEST_F(EventFaults, TheOlderElapsedTimeFunctionIsUsedAsAFallback) {
  const timed_event a = s.record_timed();
  const timed_event b = s.record_timed();
  s.sync();
  fault_table faults;
  faults.fail_from(&driver_table::cuEventElapsedTime_v2, 1,
                   abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
  EXPECT_GE(elapsed(a, b), 0.0f);
  EXPECT_EQ(faults.count(&driver_table::cuEventElapsedTime), 1);
}

// Rule 52: an error is never returned as a time.
TEST_F(EventFaults, AFailedElapsedTimeQueryThrows) {
  const timed_event a = s.record_timed();
  s.sync();
  fault_table faults;
  faults.fail(&driver_table::cuEventElapsedTime_v2, 1, abi::CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(result_of([&] { static_cast<void>(elapsed(a, a)); }), errc::unknown);
}

// Rule 160.
TEST_F(EventFaults, AFailureInADestructorReachesTheErrorHandler) {
  const unhandled_errors unhandled;
  CUevent_st* raw = nullptr;
  {
    fault_table faults;
    faults.fail(&driver_table::cuEventDestroy_v2, 1, abi::CUDA_ERROR_INVALID_CONTEXT);
    const event made{gpu};
    raw = made.get();
  }
  ASSERT_EQ(unhandled.errors().size(), 1u);
  EXPECT_EQ(unhandled.errors()[0].result(), errc::invalid_context);
  EXPECT_STREQ(unhandled.errors()[0].call(), "cuEventDestroy");
  EXPECT_EQ(unhandled.errors()[0].object().rfind("event ", 0), 0u);
  EXPECT_EQ(driver().cuEventDestroy_v2(raw), abi::CUDA_SUCCESS);
}

// Rule 161.
TEST_F(EventFaults, ADriverShutdownIsNotReportedAsAFailure) {
  const unhandled_errors unhandled;
  CUevent_st* raw = nullptr;
  {
    fault_table faults;
    faults.fail(&driver_table::cuEventDestroy_v2, 1, abi::CUDA_ERROR_DEINITIALIZED);
    const event made{gpu};
    raw = made.get();
  }
  EXPECT_EQ(unhandled.count(), 0u);
  EXPECT_EQ(driver().cuEventDestroy_v2(raw), abi::CUDA_SUCCESS);
}

TEST_F(EventFaults, AFailedCloseThrowsAndClosesTheEvent) {
  event made{gpu};
  CUevent_st* const raw = made.get();
  fault_table faults;
  faults.fail(&driver_table::cuEventDestroy_v2, 1, abi::CUDA_ERROR_INVALID_CONTEXT);
  const auto failure = failure_of([&] { made.close(); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_context);
  EXPECT_TRUE(made.closed());
  made.close();
  EXPECT_EQ(driver().cuEventDestroy_v2(raw), abi::CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir
