// SPDX-License-Identifier: Apache-2.0
// host_function_test.cpp - closures that cannot be queued: destroyed once, on the caller's thread.
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <thread>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"
#include "support/closure_probe.hpp"
#include "support/foreign_capture.hpp"

namespace weir {
namespace {

using detail::driver;
using test::closure_probe;
using test::closure_stats;
using test::driver_table;
using test::every_call_may_fail;
using test::failure_of;
using test::fault_table;
using test::is_destroyed_once;
using test::result_of;
using test::unhandled_errors;

class HostFunctionFaults : public ::testing::Test {
 protected:
  // Expects that the closure of a failed call did not run and was destroyed on this thread.
  static void expect_gone_here(const closure_stats& f) {
    EXPECT_EQ(f.runs, 0);
    EXPECT_EQ(f.destructions, 1);
    EXPECT_EQ(f.destructions_in_host_functions, 0);
    EXPECT_EQ(f.destroyed_by.load(), std::this_thread::get_id());
  }

  device gpu;
  stream s{gpu};
};

// Rule 164.
TEST_F(HostFunctionFaults, QueueingAHostFunctionReportsEachFailedCall) {
  every_call_may_fail([&] { launch_host(s, [] {}); });
  every_call_may_fail([&] { launch_host_once(s, [] {}); });
  every_call_may_fail([&] { add_callback(s, [](errc) {}); });
  s.sync();
}

// Rule 81.
TEST_F(HostFunctionFaults, AClosureThatCannotBeQueuedIsDestroyedOnceOnTheCallingThread) {
  for (const auto fail_one :
       {+[](fault_table& t) {
          t.fail(&driver_table::cuStreamAddCallback, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
        },
        +[](fault_table& t) {
          t.fail(&driver_table::cuStreamIsCapturing, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
        }}) {
    closure_stats repeatable;
    closure_stats once;
    closure_stats callback;
    fault_table faults;
    fail_one(faults);
    EXPECT_EQ(
        result_of([&] { launch_host(s, [w = closure_probe{repeatable}] { w.record_run(); }); }),
        errc::out_of_memory);
    fail_one(faults);
    EXPECT_EQ(
        result_of([&] { launch_host_once(s, [w = closure_probe{once}] { w.record_run(); }); }),
        errc::out_of_memory);
    fail_one(faults);
    EXPECT_EQ(result_of([&] {
                add_callback(s, [w = closure_probe{callback}](errc) { w.record_run(); });
              }),
              errc::out_of_memory);
    expect_gone_here(repeatable);
    expect_gone_here(once);
    expect_gone_here(callback);
    s.sync();
    drain_deferred();
    expect_gone_here(repeatable);  // not destroyed again
  }
}

// In a capture, where the graph would own the closure.
TEST_F(HostFunctionFaults, AClosureThatCannotBeCapturedIsDestroyedOnceOnTheCallingThread) {
  const auto attempt = [&](const char* name, auto function) {
    SCOPED_TRACE(name);
    const unhandled_errors unhandled;
    closure_stats f;
    test::foreign_capture foreign{s};
    {
      fault_table faults;
      faults.fail(function, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
      const auto failure =
          failure_of([&] { launch_host(s, [w = closure_probe{f}] { w.record_run(); }); });
      ASSERT_TRUE(failure);
      EXPECT_EQ(failure->result(), errc::out_of_memory);
      EXPECT_STREQ(failure->call(), name);
    }
    expect_gone_here(f);
    EXPECT_TRUE(foreign.end()) << "the capture stays valid";
    drain_deferred();
    expect_gone_here(f);
    EXPECT_EQ(unhandled.count(), 0u);
  };
  attempt("cuStreamGetCaptureInfo", &driver_table::cuStreamGetCaptureInfo_v3);
  attempt("cuUserObjectCreate", &driver_table::cuUserObjectCreate);
  attempt("cuGraphRetainUserObject", &driver_table::cuGraphRetainUserObject);
  attempt("cuLaunchHostFunc", &driver_table::cuLaunchHostFunc);
}

// Drivers before CUDA 12.3 have only the older query.
TEST_F(HostFunctionFaults, TheOlderCaptureInfoQueryIsUsedAsAFallback) {
  fault_table faults;
  faults.fail_from(&driver_table::cuStreamGetCaptureInfo_v3, 1,
                   abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
  closure_stats f;
  test::foreign_capture foreign{s};
  launch_host(s, [w = closure_probe{f}] { w.record_run(); });
  abi::CUgraph const graph = foreign.take();
  ASSERT_NE(graph, nullptr);
  EXPECT_EQ(faults.count(&driver_table::cuStreamGetCaptureInfo_v2), 1);
  EXPECT_EQ(f.destructions, 0);
  EXPECT_EQ(driver().cuGraphDestroy(graph), abi::CUDA_SUCCESS);
  EXPECT_TRUE(is_destroyed_once(f));
}

}  // namespace
}  // namespace weir
