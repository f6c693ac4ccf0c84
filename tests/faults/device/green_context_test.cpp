// SPDX-License-Identifier: Apache-2.0
// green_context_test.cpp - green contexts with failing driver calls.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/device/green_context.hpp>

#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"
#include "support/green_context_end.hpp"

namespace weir {
namespace {

using test::driver_table;
using test::every_call_may_fail;
using test::fault_table;
using test::is_destroyed_once;
using test::result_of;
using test::unhandled_errors;

class GreenContextFaults : public ::testing::Test {
 protected:
  device gpu;
  sm_split by = sm_resource::query(gpu).split(2, 16);
};

TEST_F(GreenContextFaults, SplittingMultiprocessorsReportsEachFailedCall) {
  every_call_may_fail([&] { static_cast<void>(sm_resource::query(gpu)); });
  every_call_may_fail([&] { static_cast<void>(sm_resource::query(gpu.primary_context())); });
  every_call_may_fail([&] { static_cast<void>(sm_resource::query(gpu).split(1, 16)); });
  every_call_may_fail([&] { static_cast<void>(sm_resource::query(gpu).group_count(16)); });
}

TEST_F(GreenContextFaults, CreatingAGreenContextReportsEachFailedCall) {
  every_call_may_fail([&] { return green_context{by.groups[0]}; });
  every_call_may_fail([&] { return green_context{by.groups}; });
}

TEST_F(GreenContextFaults, StreamsOfAGreenContextReportEachFailedCall) {
  const green_context green{by.groups[0]};
  every_call_may_fail([&] { return stream{green}; });
  const stream s{green};
  every_call_may_fail([&] { static_cast<void>(sm_resource::query(s)); });
  every_call_may_fail([&] { return s.record(); });
}

// The share that keeps the green context alive for the graph is taken before the capture begins.
TEST_F(GreenContextFaults, ACaptureKeepsItsGreenContextOrDoesNotBegin) {
  std::optional<green_context> green{std::in_place, by.groups[0]};
  std::optional<stream> s{std::in_place, *green};
  every_call_may_fail([&] { return capture(*s, [] {}); });
  begin_capture(*s);
  fault_table faults;
  faults.fail_from(&driver_table::cuUserObjectCreate, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  EXPECT_EQ(end_capture(*s).node_count(), 0u);
  EXPECT_EQ(result_of([&] { begin_capture(*s); }), errc::system_not_ready);
  EXPECT_EQ(capture_status_of(*s), capture_status::none);
  s.reset();
  green.reset();
  EXPECT_TRUE(is_destroyed_once(faults)) << "no graph keeps the context alive";
  drain_deferred();
}

TEST_F(GreenContextFaults, UsingAGreenContextReportsEachFailedCall) {
  const green_context green{by.groups[0]};
  const event mark{gpu};
  every_call_may_fail([&] { static_cast<void>(green.multiprocessors()); });
  every_call_may_fail([&] { green.record(mark); });
  every_call_may_fail([&] { green.wait(mark); });
}

TEST_F(GreenContextFaults, CloseThrowsAFailureAndADestructorPassesItToTheErrorHandler) {
  {
    fault_table faults;
    faults.fail(&driver_table::cuGreenCtxDestroy, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
    green_context green{by.groups[0]};
    EXPECT_EQ(result_of([&] { green.close(); }), errc::system_not_ready);
    EXPECT_TRUE(green.closed());
  }
  const unhandled_errors unhandled;
  {
    fault_table faults;
    faults.fail(&driver_table::cuGreenCtxDestroy, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
    const green_context green{by.groups[0]};
  }
  ASSERT_EQ(unhandled.count(), 1u);
  EXPECT_EQ(unhandled.errors()[0].result(), errc::system_not_ready);
}

}  // namespace
}  // namespace weir
