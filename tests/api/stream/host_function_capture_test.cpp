// SPDX-License-Identifier: Apache-2.0
// host_function_capture_test.cpp - host functions in captures: which are accepted, how often they
// run, how long they live.
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <stdexcept>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "support/closure_probe.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using detail::driver;
using test::closure_probe;
using test::closure_stats;
using test::gate;
using test::is_destroyed_once;
using test::result_of;
using test::unhandled_errors;

class HostFunctionCapture : public ::testing::Test {
 protected:
  void begin() {
    ASSERT_EQ(driver().cuStreamBeginCapture_v2(s.get(), abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
              abi::CUDA_SUCCESS);
  }
  [[nodiscard]] abi::CUgraph end() {
    abi::CUgraph graph = nullptr;
    EXPECT_EQ(driver().cuStreamEndCapture(s.get(), &graph), abi::CUDA_SUCCESS);
    return graph;
  }
  [[nodiscard]] abi::CUgraphExec instantiate(abi::CUgraph graph) {
    abi::CUgraphExec exec = nullptr;
    EXPECT_EQ(driver().cuGraphInstantiateWithFlags(&exec, graph, 0), abi::CUDA_SUCCESS);
    return exec;
  }
  void launch(abi::CUgraphExec exec) {
    EXPECT_EQ(driver().cuGraphLaunch(exec, s.get()), abi::CUDA_SUCCESS);
  }
  void destroy(abi::CUgraph graph) { EXPECT_EQ(driver().cuGraphDestroy(graph), abi::CUDA_SUCCESS); }
  void destroy(abi::CUgraphExec exec) {
    EXPECT_EQ(driver().cuGraphExecDestroy(exec), abi::CUDA_SUCCESS);
  }

  device gpu;
  context_scope current{gpu};  // needed to instantiate graphs
  stream s{gpu};
  stream t{gpu};
};

// Rules 67 and 70: the function is refused before the driver sees it, so the capture stays valid.
TEST_F(HostFunctionCapture, ACaptureRefusesFunctionsThatRunOnce) {
  closure_stats once;
  closure_stats callback;
  begin();
  EXPECT_EQ(result_of([&] { launch_host_once(s, [w = closure_probe{once}] { w.record_run(); }); }),
            errc::stream_capture_unsupported);
  EXPECT_EQ(
      result_of([&] { add_callback(s, [w = closure_probe{callback}](errc) { w.record_run(); }); }),
      errc::stream_capture_unsupported);
  destroy(end());
  EXPECT_EQ(once.destructions, 1);
  EXPECT_EQ(callback.destructions, 1);
}

// Rules 68, 71 and 172.
TEST_F(HostFunctionCapture, ARepeatableFunctionRunsOnceInEachLaunch) {
  closure_stats f;
  begin();
  launch_host(s, [w = closure_probe{f}] { w.record_run(); });
  const abi::CUgraph graph = end();
  s.sync();
  EXPECT_EQ(f.runs, 0) << "a capture records and does not run";
  const abi::CUgraphExec exec = instantiate(graph);
  destroy(graph);
  for (int i = 1; i <= 3; ++i) {
    launch(exec);
    s.sync();
    EXPECT_EQ(f.runs, i);
  }
  drain_deferred();
  EXPECT_EQ(f.destructions, 0);
  destroy(exec);
  EXPECT_TRUE(is_destroyed_once(f));
}

// Rule 69.
TEST_F(HostFunctionCapture, AStreamThatJoinedTheCaptureCapturesFunctions) {
  closure_stats f;
  begin();
  const event fork = s.record();
  t.wait(fork);
  launch_host(t, [w = closure_probe{f}] { w.record_run(); });
  const event join = t.record();
  s.wait(join);
  const abi::CUgraph graph = end();
  const abi::CUgraphExec exec = instantiate(graph);
  launch(exec);
  launch(exec);
  s.sync();
  EXPECT_EQ(f.runs, 2);
  destroy(exec);
  destroy(graph);
  EXPECT_TRUE(is_destroyed_once(f));
}

// Rule 71: a launch in flight keeps the closure alive.
TEST_F(HostFunctionCapture, AClosureOutlivesALaunchInFlight) {
  closure_stats f;
  begin();
  launch_host(s, [w = closure_probe{f}] { w.record_run(); });
  const abi::CUgraph graph = end();
  const abi::CUgraphExec exec = instantiate(graph);
  gate held{s};
  launch(exec);
  destroy(exec);
  destroy(graph);
  drain_deferred();
  EXPECT_EQ(f.destructions, 0);
  held.open();
  s.sync();
  EXPECT_EQ(f.runs, 1);
  EXPECT_TRUE(is_destroyed_once(f));
}

// Rule 73: a launch belongs to no single stream, so the exception reaches the handler.
TEST_F(HostFunctionCapture, AnExceptionInALaunchReachesTheErrorHook) {
  const unhandled_errors unhandled;
  begin();
  launch_host(s, [] { throw std::runtime_error{"in a graph"}; });
  const abi::CUgraph graph = end();
  const abi::CUgraphExec exec = instantiate(graph);
  launch(exec);
  s.sync();
  EXPECT_EQ(unhandled.count(), 1u);
  destroy(exec);
  destroy(graph);
}

// The error names the broken capture, and nothing is queued.
TEST_F(HostFunctionCapture, ABrokenCaptureRefusesFunctions) {
  closure_stats f;
  begin();
  EXPECT_NE(driver().cuStreamSynchronize(s.get()), abi::CUDA_SUCCESS);  // breaks the capture
  EXPECT_EQ(result_of([&] { launch_host(s, [w = closure_probe{f}] { w.record_run(); }); }),
            errc::stream_capture_invalidated);
  EXPECT_EQ(f.destructions, 1);
  abi::CUgraph graph = nullptr;
  EXPECT_EQ(driver().cuStreamEndCapture(s.get(), &graph),
            abi::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  s.sync();
}

// weir stores the properties of its own streams, so queries do not break a capture. Queries of a
// foreign stream are refused.
TEST_F(HostFunctionCapture, QueriesOfAStreamDoNotBreakItsCapture) {
  begin();
  static_cast<void>(s.id());
  EXPECT_EQ(s.device(), gpu);
  EXPECT_EQ(s.context(), gpu.primary_context());
  EXPECT_EQ(s.priority(), 0);
  EXPECT_FALSE(s.is_blocking());
  destroy(end());

  abi::CUstream raw = nullptr;
  ASSERT_EQ(driver().cuStreamCreate(&raw, abi::CU_STREAM_NON_BLOCKING), abi::CUDA_SUCCESS);
  ASSERT_EQ(driver().cuStreamBeginCapture_v2(raw, abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            abi::CUDA_SUCCESS);
  EXPECT_EQ(result_of([&] { static_cast<void>(stream_ref{raw}.id()); }),
            errc::stream_capture_unsupported);
  EXPECT_EQ(result_of([&] { static_cast<void>(stream_ref{raw}.is_blocking()); }),
            errc::stream_capture_unsupported);
  abi::CUgraph graph = nullptr;
  EXPECT_EQ(driver().cuStreamEndCapture(raw, &graph), abi::CUDA_SUCCESS);
  destroy(graph);
  EXPECT_EQ(driver().cuStreamDestroy_v2(raw), abi::CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir
