// SPDX-License-Identifier: Apache-2.0
// capture_test.cpp - captures and graphs with failing driver calls: nothing is leaked, and the
// streams accept work.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/ipc_buffer.hpp>
#include <weir/profiler/profiler.hpp>
#include <weir/stream/stream.hpp>

#include <optional>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "faults/capture/capture_fixture.hpp"
#include "faults/every_call.hpp"
#include "support/closure_probe.hpp"
#include "support/foreign_capture.hpp"

namespace weir {
namespace {

using test::closure_probe;
using test::closure_stats;
using test::driver_table;
using test::every_call_may_fail;
using test::failure_of;
using test::fault_table;
using test::is_destroyed_once;
using test::result_of;
using test::unhandled_errors;

class CaptureFaults : public test::capture_fixture {};

// Rule 164.
TEST_F(CaptureFaults, AScopedCaptureReportsEachFailedCall) {
  every_call_may_fail([&] { return capture(s, [] {}); });
  every_call_may_fail([&] { return capture(s, [&] { fill(s, x, 1); }); });
  every_call_may_fail([&] { return capture(s, [&](capture_scope& scope) { scope.keep(1); }); });
}

// A capture makes five driver calls: the begin, the end, one query for its id, and two that mark
// the work before it. The begin and the end report themselves whether the stream captures.
TEST_F(CaptureFaults, ACaptureWithoutForksMakesOneCaptureInfoQuery) {
  fault_table calls;
  const graph g = capture(s, [] {});
  EXPECT_EQ(calls.count(&driver_table::cuStreamGetCaptureInfo_v3), 1);
  EXPECT_EQ(calls.count(&driver_table::cuEventRecord), 1);
  EXPECT_EQ(calls.count_all(), 5);
}

TEST_F(CaptureFaults, JoiningForksAutomaticallyReportsEachFailedCall) {
  every_call_may_fail([&] { return capture(s, [&] { fill(s, x, 1); }, {.join_forks = true}); });
}

TEST_F(CaptureFaults, CaptureQueriesReportEachFailedCall) {
  begin_capture(s);
  every_call_may_fail([&] { static_cast<void>(capture_status_of(s)); });
  every_call_may_fail([&] { static_cast<void>(capture_info_of(s)); });
  every_call_may_fail([&] { const thread_capture_mode mode{capture_mode::relaxed}; });
  static_cast<void>(end_capture(s));
}

TEST_F(CaptureFaults, GraphOperationsReportEachFailedCall) {
  const graph g = capture(s, [&] {
    fill(s, x, 1);
    fill(s, x, 2);
  });
  every_call_may_fail([&] { return graph{}; });
  every_call_may_fail([&] { return g.clone(); });
  every_call_may_fail([&] { return g.nodes(); });
  every_call_may_fail([&] { return g.roots(); });
  every_call_may_fail([&] { return g.edges(); });
  every_call_may_fail([&] { return g.nodes().at(0).kind(); });
  every_call_may_fail([&] { return g.dot(); });
  every_call_may_fail([&] { g.write_dot("/dev/null"); });
  every_call_may_fail([&] { g.keep(1); });
}

TEST_F(CaptureFaults, ExecutableGraphOperationsReportEachFailedCall) {
  const graph g = capture(s, [&] { fill(s, x, 1); });
  std::vector<graph_exec> made;  // destroyed outside the calls that fail
  every_call_may_fail([&] { made.push_back(g.instantiate()); });
  every_call_may_fail([&] { made.push_back(g.instantiate({.upload_in = s})); });
  graph_exec& exec = made.front();
  every_call_may_fail([&] { exec.launch(s); });
  every_call_may_fail([&] { exec.upload(s); });
  every_call_may_fail([&] { static_cast<void>(exec.options()); });
  every_call_may_fail([&] { static_cast<void>(exec.update(g)); });
  every_call_may_fail([&] { made.push_back(graph_exec::adopt(g.instantiate().release())); });
}

// An executable that can be neither updated nor reinstantiated does not change.
TEST_F(CaptureFaults, AnExecutableThatCannotBeReinstantiatedStaysUsable) {
  graph_exec exec = capture(s, [&] { fill(s, x, 1); }).instantiate();
  const graph longer = capture(s, [&] {
    fill(s, x, 1);
    fill(s, x, 2);
  });
  CUgraphExec_st* const before = exec.get();
  {
    fault_table faults;
    faults.fail(&driver_table::cuGraphInstantiateWithParams, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(result_of([&] { exec.update_or_reinstantiate(longer); }), errc::out_of_memory);
  }
  EXPECT_EQ(exec.get(), before);
  exec.launch(s);
  s.sync();
}

// An owner that the graph cannot keep is destroyed at once, and only once.
TEST_F(CaptureFaults, AnOwnerThatTheGraphCannotKeepIsDestroyedOnce) {
  const graph g;
  const auto attempt = [&](auto function) {
    closure_stats f;
    {
      fault_table faults;
      faults.fail(function, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(result_of([&] { g.keep(closure_probe{f}); }), errc::out_of_memory);
    }
    EXPECT_TRUE(is_destroyed_once(f));
    EXPECT_EQ(f.destructions_in_host_functions, 0);
    drain_deferred();
    EXPECT_EQ(f.destructions, 1);
  };
  attempt(&driver_table::cuUserObjectCreate);
  attempt(&driver_table::cuGraphRetainUserObject);
}

// The end cannot find out whether a fork was joined, and still ends the capture.
TEST_F(CaptureFaults, AFailedEndStillEndsTheCapture) {
  const auto attempt = [&](auto function) {
    const unhandled_errors unhandled;
    {
      fault_table faults;
      const auto failure = failure_of([&] {
        static_cast<void>(capture(s, [&] {
          fork();
          s.wait(t);
          faults.fail(function, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
        }));
      });
      ASSERT_TRUE(failure);
      EXPECT_EQ(failure->result(), errc::out_of_memory);
    }
    EXPECT_EQ(unhandled.count(), 0u);
    EXPECT_EQ(capture_status_of(s), capture_status::none);
    EXPECT_EQ(capture_status_of(t), capture_status::none);
  };
  attempt(&driver_table::cuStreamGetCaptureInfo_v3);
  attempt(&driver_table::cuGraphGetEdges_v2);
  attempt(&driver_table::cuStreamEndCapture);
}

// For a manual capture, too, which no scope ends.
TEST_F(CaptureFaults, AFailedManualEndStillEndsTheCapture) {
  begin_capture(s);
  fork();
  s.wait(t);
  {
    fault_table faults;
    faults.fail(&driver_table::cuGraphGetEdges_v2, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(result_of([&] { static_cast<void>(end_capture(s)); }), errc::out_of_memory);
  }
  EXPECT_EQ(capture_status_of(s), capture_status::none);
  EXPECT_EQ(result_of([&] { static_cast<void>(end_capture(s)); }), errc::illegal_state);
}

// The body's exception is thrown, and the failure of the end reaches the handler.
TEST_F(CaptureFaults, AFailedEndDuringAnExceptionReachesTheErrorHandler) {
  const unhandled_errors unhandled;
  {
    fault_table faults;
    EXPECT_THROW(static_cast<void>(capture(s,
                                           [&] {
                                             faults.fail(&driver_table::cuStreamEndCapture, 1,
                                                         abi::CUDA_ERROR_OUT_OF_MEMORY);
                                             throw std::runtime_error{"the body's"};
                                           })),
                 std::runtime_error);
  }
  ASSERT_EQ(unhandled.errors().size(), 1u);
  EXPECT_EQ(unhandled.errors()[0].result(), errc::out_of_memory);
}

// Drivers before CUDA 12.3 have only the older query.
TEST_F(CaptureFaults, TheOlderCaptureInfoQueryIsUsedAsAFallback) {
  fault_table faults;
  faults.fail_from(&driver_table::cuStreamGetCaptureInfo_v3, 1,
                   abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
  const graph g = capture(s, [&] {
    fill(s, x, 1);
    EXPECT_EQ(capture_info_of(s).frontier.size(), 1u);
  });
  EXPECT_EQ(g.node_count(), 1u);
}

// A query beside a capture needs relaxed capture mode. If the mode cannot be set, the query is not
// made.
TEST_F(CaptureFaults, QueriesDuringACaptureReportEachFailedCall) {
  const event mark = t.record();
  begin_capture(s);
  every_call_may_fail([&] { t.sync(); });
  every_call_may_fail([&] { static_cast<void>(t.done()); });
  every_call_may_fail([&] { mark.sync(); });
  every_call_may_fail([&] { static_cast<void>(mark.done()); });
  static_cast<void>(end_capture(s));
}

// Memory that cannot be closed without breaking the capture is not closed.
TEST_F(CaptureFaults, MemoryIsNotClosedIfTheCaptureModeCannotBeChanged) {
  ipc_buffer<int> memory{10};
  test::foreign_capture foreign{s, abi::CU_STREAM_CAPTURE_MODE_GLOBAL};
  {
    fault_table faults;
    faults.fail(&driver_table::cuThreadExchangeStreamCaptureMode, 1,
                abi::CUDA_ERROR_SYSTEM_NOT_READY);
    EXPECT_EQ(result_of([&] { memory.close(); }), errc::system_not_ready);
    EXPECT_EQ(faults.count(&driver_table::cuMemFree_v2), 0);
  }
  ASSERT_FALSE(memory.closed());
  memory.close();
  every_call_may_fail([] { start_profiler(); });
  every_call_may_fail([] { stop_profiler(); });
  EXPECT_TRUE(foreign.end());
}

}  // namespace
}  // namespace weir
