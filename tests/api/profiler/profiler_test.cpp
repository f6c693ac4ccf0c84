// SPDX-License-Identifier: Apache-2.0
// profiler_test.cpp - starting and stopping a profiler's recording.
#include <weir/core/deferred.hpp>
#include <weir/profiler/profiler.hpp>
#include <weir/stream/host_function.hpp>

#include <optional>

#include <gtest/gtest.h>

#include "api/core/call_restrictions.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::result_of;

TEST(Profiler, AScopeStartsAndStops) {
  const fault_table calls;
  {
    const profiler_scope scope;
    EXPECT_EQ(calls.count(&driver_table::cuProfilerStart), 1);
    EXPECT_EQ(calls.count(&driver_table::cuProfilerStop), 0);
  }
  EXPECT_EQ(calls.count(&driver_table::cuProfilerStop), 1);
}

TEST(Profiler, TheProfilerMayBeStartedAndStoppedTwice) {
  start_profiler();
  start_profiler();
  stop_profiler();
  stop_profiler();
}

TEST(Profiler, HostFunctionsMayNotStartTheProfiler) {
  const stream s{device{}};
  errc started = errc::success;
  launch_host(s, [&] { started = result_of([] { start_profiler(); }); });
  s.sync();
  EXPECT_EQ(started, errc::not_permitted);
}

// The recording stops at the end of the scope even in a capture, so it contains no later work.
TEST(Profiler, AScopeEndsAtOnceInACapture) {
  const fault_table calls;
  std::optional<profiler_scope> scope{std::in_place};
  const detail::scoped_active_capture capture;
  scope.reset();
  EXPECT_EQ(calls.count(&driver_table::cuProfilerStop), 1);
}

TEST(Profiler, AScopeThatEndsInAHostFunctionIsStoppedElsewhere) {
  const fault_table calls;
  const stream s{device{}};
  std::optional<profiler_scope> scope{std::in_place};
  launch_host(s, [&] { scope.reset(); });
  s.sync();
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuProfilerStop), 1);
}

TEST(Profiler, AScopeThatCannotStartDoesNotStop) {
  fault_table faults;
  faults.fail(&driver_table::cuProfilerStart, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  EXPECT_EQ(result_of([] { profiler_scope{}; }), errc::system_not_ready);
  EXPECT_EQ(faults.count(&driver_table::cuProfilerStop), 0);
}

TEST(Profiler, AFailureAtTheEndOfAScopeReachesTheErrorHook) {
  const test::unhandled_errors unhandled;
  {
    fault_table faults;
    faults.fail(&driver_table::cuProfilerStop, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
    const profiler_scope scope;
  }
  ASSERT_EQ(unhandled.count(), 1u);
  EXPECT_EQ(unhandled.errors()[0].result(), errc::system_not_ready);
}

}  // namespace
}  // namespace weir
