// SPDX-License-Identifier: Apache-2.0
// capture_test.cpp - beginning and ending captures: what they record, report and keep alive.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/host_function.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "capture_fixture.hpp"
#include "driver/table.hpp"
#include "support/closure_probe.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using detail::driver;
using test::failure_of;
using test::result_of;

class Capture : public test::capture_fixture {};

// Rule 172.
TEST_F(Capture, ACaptureRecordsWorkWithoutRunningIt) {
  fill(s, x, 1);
  const graph g = capture(s, [&] { fill(s, x, 2); });
  EXPECT_EQ(first_element(), 1);
  g.instantiate().launch(s);
  EXPECT_EQ(first_element(), 2);
}

TEST_F(Capture, TheBodyReceivesTheStreamAndTheGraph) {
  const graph g = capture(s, [&](capture_scope& scope) {
    EXPECT_EQ(scope.stream(), s);
    EXPECT_EQ(scope.graph().node_count(), 0u);
    fill(scope, x, 2);
    EXPECT_EQ(scope.graph().node_count(), 1u);
  });
  EXPECT_EQ(g.node_count(), 1u);
}

// Rule 111.
TEST_F(Capture, AnExceptionFromTheBodyIsRethrownAndTheCaptureIsEnded) {
  test::closure_stats f;
  const test::unhandled_errors unhandled;
  EXPECT_THROW(static_cast<void>(capture(s,
                                         [&](capture_scope& scope) {
                                           scope.keep(test::closure_probe{f});
                                           fork();
                                           throw std::runtime_error{"the body's"};
                                         })),
               std::runtime_error);
  EXPECT_TRUE(test::is_destroyed_once(f));
  EXPECT_EQ(unhandled.count(), 0u);
  expect_not_capturing();
}

// Rules 91 and 92.
TEST_F(Capture, OnlyThePerThreadDefaultStreamCanBeCaptured) {
  const context_scope current{gpu};
  const auto refused = failure_of([&] { begin_capture(stream_ref::legacy()); });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->result(), errc::stream_capture_unsupported);
  EXPECT_TRUE(message_contains(*refused, "cannot be captured")) << refused->what();
  const graph g = capture(stream_ref::per_thread(), [&] { fill(stream_ref::per_thread(), x, 3); });
  EXPECT_EQ(g.node_count(), 1u);
}

TEST_F(Capture, AnInvalidCaptureModeIsRefused) {
  constexpr auto none = static_cast<capture_mode>(3);
  EXPECT_EQ(result_of([&] { begin_capture(s, {.mode = none}); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { const thread_capture_mode mode{none}; }), errc::invalid_value);
  expect_not_capturing();
}

// Rule 93.
TEST_F(Capture, ASecondBeginIsRefusedAndTheFirstCaptureContinues) {
  begin_capture(s);
  const unsigned line = __LINE__ - 1;
  fork();
  const auto again = failure_of([&] { begin_capture(s); });
  ASSERT_TRUE(again);
  EXPECT_EQ(again->result(), errc::illegal_state);
  EXPECT_TRUE(message_contains(*again, "capture_test.cpp:" + std::to_string(line)))
      << again->what();
  EXPECT_EQ(result_of([&] { static_cast<void>(capture(t, [] {})); }), errc::illegal_state)
      << "t has joined the capture";
  s.wait(t);
  EXPECT_EQ(end_capture(s).node_count(), 1u);
  expect_not_capturing();
}

// Rule 94.
TEST_F(Capture, EndingACaptureOnAnotherStreamIsRefusedAndTheCaptureContinues) {
  begin_capture(s);
  fork();
  EXPECT_EQ(result_of([&] { static_cast<void>(end_capture(t)); }), errc::stream_capture_unmatched);
  const stream idle{gpu};
  EXPECT_EQ(result_of([&] { static_cast<void>(end_capture(idle)); }), errc::illegal_state);
  s.wait(t);
  EXPECT_EQ(end_capture(s).node_count(), 1u);
  EXPECT_EQ(result_of([&] { static_cast<void>(end_capture(s)); }), errc::illegal_state)
      << "the capture has ended";
}

TEST_F(Capture, ACaptureScopeCannotBeEndedFromItsBody) {
  const graph g = capture(s, [&] {
    fill(s, x, 1);
    EXPECT_EQ(result_of([&] { static_cast<void>(end_capture(s)); }), errc::illegal_state);
  });
  EXPECT_EQ(g.node_count(), 1u);
}

TEST_F(Capture, ACaptureScopeReportsThatItWasEndedDirectlyThroughTheDriver) {
  const auto failure = failure_of([&] {
    static_cast<void>(capture(s, [&] {
      abi::CUgraph stolen = nullptr;
      ASSERT_EQ(driver().cuStreamEndCapture(s.get(), &stolen), abi::CUDA_SUCCESS);
      ASSERT_EQ(driver().cuGraphDestroy(stolen), abi::CUDA_SUCCESS);
    }));
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::illegal_state);
  EXPECT_TRUE(message_contains(*failure, "was ended directly through the driver"))
      << failure->what();
  expect_not_capturing();
}

// Rules 104 and 106.
TEST_F(Capture, CaptureInfoReportsTheCaptureAndItsFrontier) {
  EXPECT_EQ(capture_info_of(s).status, capture_status::none);
  unsigned long long id = 0;
  const graph g = capture(s, [&](capture_scope& scope) {
    const capture_info empty = capture_info_of(s);
    EXPECT_EQ(empty.status, capture_status::active);
    EXPECT_EQ(empty.graph, scope.graph());
    EXPECT_TRUE(empty.frontier.empty());
    id = empty.id;
    fill(s, x, 1);
    t.wait(s);
    const capture_info forked = capture_info_of(t);
    EXPECT_EQ(forked.id, id);
    EXPECT_EQ(forked.graph, scope.graph());
    ASSERT_EQ(forked.frontier.size(), 1u);
    EXPECT_EQ(forked.frontier[0].node, scope.graph().nodes().at(0));
    EXPECT_EQ(forked.frontier[0].data, edge_data{});
  });
  begin_capture(s);
  EXPECT_NE(capture_info_of(s).id, id);
  static_cast<void>(end_capture(s));
}

// Rule 113: the scope ends the capture on the stream on which it began, even if the stream's owner
// is destroyed.
TEST_F(Capture, TheStreamOwnerMayBeDestroyedInsideTheBody) {
  auto owner = std::make_unique<stream>(gpu);
  const graph g = capture(*owner, [&](capture_scope& scope) {
    fill(scope, x, 1);
    owner.reset();
  });
  EXPECT_EQ(g.node_count(), 1u);
}

TEST_F(Capture, ACaptureStartedDirectlyThroughTheDriverCanBeEnded) {
  ASSERT_EQ(driver().cuStreamBeginCapture_v2(s.get(), abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            abi::CUDA_SUCCESS);
  EXPECT_EQ(result_of([&] { begin_capture(s); }), errc::illegal_state);
  fill(s, x, 1);
  EXPECT_EQ(end_capture(s).node_count(), 1u);
}

// Rule 119.
TEST_F(Capture, ObjectsKeptByACaptureScopeLiveUntilTheLastLaunchIsDone) {
  const test::unhandled_errors unhandled;
  test::closure_stats f;
  std::optional<buffer<int>> kept{std::in_place, s, 100};
  std::optional<graph> g{capture(s, [&](capture_scope& scope) {
    fill(s, *kept, 8);
    copy(s, *kept, host);
    scope.keep(std::move(*kept));
    scope.keep(test::closure_probe{f});
  })};
  kept.reset();
  test::gate held{t};
  {
    const graph_exec exec = g->instantiate();
    exec.launch(t);
  }
  g.reset();
  drain_deferred();
  EXPECT_EQ(f.destructions, 0) << "a launch needs it";
  held.open();
  t.sync();
  EXPECT_EQ(host[0], 8);
  EXPECT_TRUE(test::is_destroyed_once(f));
  EXPECT_EQ(f.destructions_in_host_functions, 0);
  EXPECT_NE(f.destroyed_by.load(), std::this_thread::get_id());
  drain_deferred();
  EXPECT_EQ(unhandled.count(), 0u) << "the closure is destroyed where CUDA calls are allowed";
}

TEST_F(Capture, BeginningACaptureInAHostFunctionIsRefused) {
  errc answer = errc::success;
  launch_host(s, [&] { answer = result_of([&] { begin_capture(t); }); });
  s.sync();
  EXPECT_EQ(answer, errc::not_permitted);
}

}  // namespace
}  // namespace weir
