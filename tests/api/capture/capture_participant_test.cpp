// SPDX-License-Identifier: Apache-2.0
// capture_participant_test.cpp - functions that take part in a capture that other code began.
#include <weir/capture/capture_exec.hpp>
#include <weir/capture/capture_participant.hpp>
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream_fork.hpp>

#include <atomic>
#include <barrier>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "api/capture/capture_checks.hpp"
#include "capture_fixture.hpp"
#include "support/closure_probe.hpp"
#include "support/errors.hpp"
#include "support/foreign_capture.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::result_of;

class CaptureParticipant : public test::capture_fixture {};

// Rule 114: a participant joins the capture and neither begins nor ends it.
TEST_F(CaptureParticipant, ACaptureParticipantJoinsACaptureWithoutEndingIt) {
  test::foreign_capture theirs{s};
  {
    const capture_participant outer{s};
    EXPECT_EQ(outer.stream(), s);
    EXPECT_EQ(outer.graph(), capture_info_of(s).graph);
    EXPECT_EQ(outer.id(), capture_info_of(s).id);
    fill(outer, x, 1);
    const auto refused = failure_of([&] { static_cast<void>(end_capture(s)); });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->result(), errc::illegal_state);
    EXPECT_TRUE(message_contains(*refused, "end it in the code that began it")) << refused->what();
  }
  EXPECT_EQ(capture_status_of(s), capture_status::active);
  const graph g = graph::adopt(theirs.take());
  EXPECT_EQ(g.node_count(), 1u);
}

// Rule 114.
TEST_F(CaptureParticipant, ACaptureParticipantOfAnIdleStreamIsRefused) {
  const auto refused = failure_of([&] { const capture_participant outer{s}; });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->result(), errc::illegal_state);
  EXPECT_TRUE(message_contains(*refused, "no capture to take part in")) << refused->what();
  expect_not_capturing();
}

TEST_F(CaptureParticipant, ACaptureParticipantOfABrokenCaptureIsRefused) {
  test::foreign_capture theirs{s};
  EXPECT_NE(detail::driver().cuStreamQuery(s.get()), abi::CUDA_SUCCESS);
  EXPECT_EQ(result_of([&] { const capture_participant outer{s}; }),
            errc::stream_capture_invalidated);
  EXPECT_FALSE(theirs.end());
}

// Calls that would break the capture are refused before the driver sees them, as in weir's own
// captures.
TEST_F(CaptureParticipant, CallsThatWouldBreakTheJoinedCaptureAreRefused) {
  test::foreign_capture theirs{s, abi::CU_STREAM_CAPTURE_MODE_GLOBAL};
  {
    const capture_participant outer{s};
    const event mark = s.record();
    const auto refused = failure_of([&] { s.sync(); });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->result(), errc::stream_capture_unsupported);
    EXPECT_TRUE(message_contains(*refused, "started directly through the driver and joined at"))
        << refused->what();
    EXPECT_EQ(result_of([&] { static_cast<void>(s.done()); }), errc::stream_capture_unsupported);
    EXPECT_EQ(result_of([&] { mark.sync(); }), errc::captured_event);
    EXPECT_EQ(result_of([&] { s.context().sync(); }), errc::stream_capture_unsupported);
    t.sync();
    fill(s, x, 1);
  }
  EXPECT_TRUE(theirs.end());
}

TEST_F(CaptureParticipant, ObjectsKeptByACaptureParticipantLiveAsLongAsTheGraph) {
  test::closure_stats f;
  test::foreign_capture theirs{s};
  {
    const capture_participant outer{s};
    outer.keep(test::closure_probe{f});
  }
  std::optional<graph> g{graph::adopt(theirs.take())};
  drain_deferred();
  EXPECT_EQ(f.destructions, 0);
  g.reset();
  drain_deferred();
  EXPECT_TRUE(test::is_destroyed_once(f));
}

TEST_F(CaptureParticipant, OtherStreamsCanForkFromAndJoinACaptureParticipant) {
  test::foreign_capture theirs{s};
  {
    const capture_participant outer{s};
    stream_fork f{outer, 3};
    for (std::size_t i = 1; i < f.size(); ++i) fill(f[i], y, 1);
    const capture_participant inner{f[1]};
    EXPECT_EQ(inner.id(), outer.id());
  }
  const graph g = graph::adopt(theirs.take());
  EXPECT_EQ(g.node_count(), 2u);
}

TEST_F(CaptureParticipant, CaptureParticipantsOfOneCaptureMayEndInAnyOrder) {
  test::foreign_capture theirs{s};
  std::optional<capture_participant> first{s};
  std::optional<capture_participant> second{s};
  std::optional<capture_participant> third{s};
  second.reset();
  first.reset();
  EXPECT_EQ(result_of([&] { s.sync(); }), errc::stream_capture_unsupported)
      << "the third participant is still open";
  const auto refused = failure_of([&] { static_cast<void>(end_capture(s)); });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->result(), errc::illegal_state);
  third.reset();
  EXPECT_FALSE(detail::any_capture_active());
  EXPECT_TRUE(theirs.end());
}

// All participating threads see the capture, and weir forgets it when the last one leaves.
TEST_F(CaptureParticipant, SeveralThreadsCanEnterAndLeaveOneCaptureConcurrently) {
  constexpr int threads = 4;
  constexpr int rounds = 1000;
  test::foreign_capture theirs{s};
  std::barrier together{threads};
  std::atomic<int> unknown = 0;
  std::atomic<int> left = 0;
  {
    std::vector<std::jthread> each;
    for (int i = 0; i < threads; ++i) {
      each.emplace_back([&] {
        for (int round = 0; round < rounds; ++round) {
          together.arrive_and_wait();
          {
            const capture_participant mine{s};
            if (!detail::any_capture_active()) ++unknown;
          }
          together.arrive_and_wait();
          if (detail::any_capture_active()) ++left;
        }
      });
    }
  }
  EXPECT_EQ(unknown, 0);
  EXPECT_EQ(left, 0);
  EXPECT_TRUE(theirs.end());
}

TEST_F(CaptureParticipant, ACaptureParticipantCanJoinACaptureThatWeirBegan) {
  const graph g = capture(s, [&](capture_scope& scope) {
    {
      const capture_participant outer{s};
      EXPECT_EQ(outer.graph(), scope.graph());
      fill(outer, x, 1);
    }
    EXPECT_EQ(result_of([&] { s.sync(); }), errc::stream_capture_unsupported)
        << "weir still tracks the capture";
  });
  EXPECT_EQ(g.node_count(), 1u);
}

TEST_F(CaptureParticipant, EndCaptureIsRefusedWhileACaptureParticipantTakesPart) {
  begin_capture(s);
  std::optional<capture_participant> outer{s};
  std::optional<capture_participant> second{s};
  for (auto* const last : {&second, &outer}) {
    const auto refused = failure_of([&] { static_cast<void>(end_capture(s)); });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->result(), errc::illegal_state);
    EXPECT_TRUE(message_contains(*refused, "still has a capture_participant")) << refused->what();
    fill(**last, x, 1);
    last->reset();
  }
  EXPECT_EQ(end_capture(s).node_count(), 2u);
  EXPECT_FALSE(detail::any_capture_active());
}

// If the capture ends before its participant, weir keeps no record of it.
TEST_F(CaptureParticipant, ACaptureParticipantThatEndedEarlyRefusesNoFurtherCalls) {
  test::foreign_capture theirs{s};
  const capture_participant outer{s};
  const event mark = s.record();
  EXPECT_TRUE(theirs.end());
  s.sync();
  s.context().sync();
  const graph g = capture(s, [&] { fill(s, x, 1); });
  EXPECT_EQ(g.node_count(), 1u);
  expect_not_capturing();
}

TEST_F(CaptureParticipant, ACaptureParticipantInAHostFunctionIsRefused) {
  errc answer = errc::success;
  launch_host(s, [&] { answer = result_of([&] { const capture_participant outer{t}; }); });
  s.sync();
  EXPECT_EQ(answer, errc::not_permitted);
}

class CaptureExec : public test::capture_fixture {};

TEST_F(CaptureExec, CaptureExecReturnsTheExecutableOfTheBody) {
  graph_exec exec = capture_exec(s, [&](capture_scope& scope) {
    fill(scope, x, 4);
    copy(scope, x, host);
  });
  exec.launch(s);
  s.sync();
  EXPECT_EQ(host[0], 4);
  EXPECT_TRUE(exec.update(capture(s, [&] {
    fill(s, x, 5);
    copy(s, x, host);
  })));
  exec.launch(s);
  s.sync();
  EXPECT_EQ(host[0], 5);
}

TEST_F(CaptureExec, CaptureExecAppliesInstantiationAndCaptureOptions) {
  const graph_exec exec =
      capture_exec(s, [&] { fork(); }, {.auto_free_on_launch = true}, {.join_forks = true});
  EXPECT_TRUE(exec.options().auto_free_on_launch);
}

TEST_F(CaptureExec, AnExceptionFromTheBodyIsRethrown) {
  EXPECT_THROW(static_cast<void>(capture_exec(s, [] { throw 4; })), int);
  expect_not_capturing();
}

}  // namespace
}  // namespace weir
