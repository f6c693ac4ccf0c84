// profiler_test.cpp - telling a profiler where to begin and to end.
#include <weir/core/deferred.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/profiler/profiler.hpp>

#include <optional>

#include <gtest/gtest.h>

#include "api/core/guard.hpp"
#include "support/fault_table.hpp"
#include "support/errors.hpp"
#include "support/unraised.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::failing_table;
using test::result_of;

TEST(Profiler, AScopeStartsAndStops) {
  const failing_table calls;
  {
    const profiler_scope scope;
    EXPECT_EQ(calls.count(&driver_table::cuProfilerStart), 1);
    EXPECT_EQ(calls.count(&driver_table::cuProfilerStop), 0);
  }
  EXPECT_EQ(calls.count(&driver_table::cuProfilerStop), 1);
}

TEST(Profiler, StartingTwiceAndStoppingTwiceIsAllowed) {
  start_profiler();
  start_profiler();
  stop_profiler();
  stop_profiler();
}

TEST(Profiler, InAHostFunctionItIsRefused) {
  const stream s{device{}};
  errc started = errc::success;
  launch_host(s, [&] { started = result_of([] { start_profiler(); }); });
  s.sync();
  EXPECT_EQ(started, errc::not_permitted);
}

// A recording ends where its scope does, in a capture too: what came after it is not in it.
TEST(Profiler, AScopeEndsAtOnceInACapture) {
  const failing_table calls;
  std::optional<profiler_scope> scope{std::in_place};
  const detail::capture_mark capture;
  scope.reset();
  EXPECT_EQ(calls.count(&driver_table::cuProfilerStop), 1);
}

TEST(Profiler, AScopeThatEndsInAHostFunctionIsStoppedElsewhere) {
  const failing_table calls;
  const stream s{device{}};
  std::optional<profiler_scope> scope{std::in_place};
  launch_host(s, [&] { scope.reset(); });
  s.sync();
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuProfilerStop), 1);
}

TEST(Profiler, AScopeThatCannotStartDoesNotStop) {
  failing_table faults;
  faults.fail(&driver_table::cuProfilerStart, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  EXPECT_EQ(result_of([] { profiler_scope{}; }), errc::system_not_ready);
  EXPECT_EQ(faults.count(&driver_table::cuProfilerStop), 0);
}

TEST(Profiler, AScopesFailureAtItsEndReachesTheHook) {
  const test::unraised_errors unraised;
  {
    failing_table faults;
    faults.fail(&driver_table::cuProfilerStop, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
    const profiler_scope scope;
  }
  ASSERT_EQ(unraised.count(), 1u);
  EXPECT_EQ(unraised.errors()[0].result(), errc::system_not_ready);
}

}  // namespace
}  // namespace weir
