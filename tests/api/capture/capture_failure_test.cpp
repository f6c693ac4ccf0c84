// SPDX-License-Identifier: Apache-2.0
// capture_failure_test.cpp - captures that yield no graph, and the cause that the error names:
// streams that were not joined, and calls that broke the capture.
#include <weir/capture/capture.hpp>
#include <weir/capture/capture_frontier.hpp>
#include <weir/capture/capture_node.hpp>
#include <weir/capture/capture_participant.hpp>
#include <weir/completion/completion.hpp>
#include <weir/core/to_string.hpp>
#include <weir/event/event.hpp>
#include <weir/event/timer.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/profiler/name.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream_fork.hpp>

#include <span>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "api/core/call_restrictions.hpp"
#include "capture_fixture.hpp"
#include "driver/table.hpp"
#include "support/errors.hpp"
#include "support/foreign_capture.hpp"

namespace weir {
namespace {

using detail::driver;
using test::failure_of;
using test::foreign_capture;
using test::result_of;

class CaptureFailure : public test::capture_fixture {};

TEST_F(CaptureFailure, TheErrorOfABodyThatBreaksTheCaptureIsRethrown) {
  const event outside = t.record();
  const auto failure = failure_of([&] { static_cast<void>(capture(s, [&] { s.wait(outside); })); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::stream_capture_isolation);
  EXPECT_STREQ(failure->call(), "cuStreamWaitEvent");
  expect_not_capturing();
}

// Rules 96 and 97.
TEST_F(CaptureFailure, StreamsThatWereNotJoinedAreNamed) {
  set_name(t, "fork");
  const stream joined{gpu};
  const auto failure = failure_of([&] {
    static_cast<void>(capture(s, [&] {
      fork();
      joined.wait(s);
      fill(joined, x, 1);
      s.wait(joined);
      fill(s, x, 2);  // the end comes after the joined stream's work, but not directly
    }));
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::stream_capture_unjoined);
  EXPECT_TRUE(message_contains(*failure, "\"fork\"")) << failure->what();
  EXPECT_FALSE(message_contains(*failure, to_string(joined))) << failure->what();
  expect_not_capturing();
}

TEST_F(CaptureFailure, AStreamCanBeJoinedThroughAnotherStream) {
  const stream u{gpu};
  const graph g = capture(s, [&] {
    fork();
    u.wait(t);
    fill(u, y, 6);
    s.wait(u);
  });
  EXPECT_EQ(g.node_count(), 2u);
  EXPECT_EQ(g.edges().size(), 1u);
}

TEST_F(CaptureFailure, TheJoinForksOptionJoinsForkedStreams) {
  fill(s, y, 0);
  s.sync();
  const graph g = capture(s,
                          [&] {
                            fill(s, x, 1);
                            fork();
                          },
                          {.join_forks = true});
  EXPECT_EQ(g.node_count(), 2u);
  g.instantiate().launch(s);
  copy(s, y, host);
  s.sync();
  EXPECT_EQ(host[0], 5);
}

// H27: the error names the first call that broke the capture, with its line.
TEST_F(CaptureFailure, ABrokenCaptureNamesTheFirstCallThatBrokeIt) {
  const event outside = t.record();
  begin_capture(s, {.mode = capture_mode::relaxed});
  EXPECT_EQ(result_of([&] { s.wait(outside); }), errc::stream_capture_isolation);
  const unsigned line = __LINE__ - 1;
  EXPECT_EQ(capture_status_of(s), capture_status::invalidated);
  EXPECT_EQ(result_of([&] { fill(s, x, 1); }), errc::stream_capture_invalidated)
      << "this later call is not named";
  EXPECT_EQ(s.status(), errc::stream_capture_invalidated);
  const auto failure = failure_of([&] { static_cast<void>(end_capture(s)); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::stream_capture_invalidated);
  EXPECT_TRUE(message_contains(*failure, "cuStreamWaitEvent at")) << failure->what();
  EXPECT_TRUE(message_contains(*failure, "capture_failure_test.cpp:" + std::to_string(line)))
      << failure->what();
  EXPECT_TRUE(message_contains(*failure, "relaxed")) << failure->what();
  EXPECT_FALSE(message_contains(*failure, "cuMemset")) << failure->what();
  expect_not_capturing();
}

// A caller that ignores an error gets the cause from each later call, whatever that call is.
TEST_F(CaptureFailure, EachCallInABrokenCaptureNamesTheCallThatBrokeIt) {
  const event outside = t.record();
  const event also_outside = t.record();
  graph other = capture(t, [&] { fill(t, y, 1); });
  const graph_exec exec = other.instantiate();
  const auto expect_cause = [&](const auto& call) {
    unsigned line = 0;
    const auto failure = failure_of([&] {
      static_cast<void>(capture(s, [&] {
        line = __LINE__ + 1;
        EXPECT_EQ(result_of([&] { s.wait(outside); }), errc::stream_capture_isolation);
        call();
      }));
    });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::stream_capture_invalidated) << failure->what();
    EXPECT_NE(failure->hint().find("was broken by cuStreamWaitEvent at"), std::string::npos)
        << failure->what();
    EXPECT_TRUE(message_contains(*failure, "capture_failure_test.cpp:" + std::to_string(line)))
        << failure->what();
  };
  expect_cause([] {});
  expect_cause([&] { fill(s, x, 1); });
  expect_cause([&] { copy(s, x, y); });
  expect_cause([&] { copy(s, x, host); });
  expect_cause([&] { s.wait(also_outside); });
  expect_cause([&] { t.wait(s); });
  expect_cause([&] { s.wait(t); });
  expect_cause([&] { static_cast<void>(s.record()); });
  expect_cause([&] { s.record(also_outside); });
  expect_cause([&] { s.record(also_outside, external); });
  expect_cause([&] { s.wait(also_outside, external); });
  expect_cause([&] { launch_host(s, [] {}); });
  expect_cause([&] { launch_host_once(s, [] {}); });
  expect_cause([&] { exec.launch(s); });
  expect_cause([&] { s.sync(); });
  expect_cause([&] { static_cast<void>(s.done()); });
  expect_cause([&] { static_cast<void>(s.completion()); });
  expect_cause([&] { begin_capture(s); });
  expect_cause([&] { update_capture_dependencies(s, {}, dependency_update::set); });
  expect_cause([&] { capture_node(s, empty_parameters{}); });
  expect_cause([&] { const stream_fork forked{s, 2}; });
  expect_cause([&] { const capture_participant joined{s}; });
  expect_cause([&] { const buffer<int> made{s, 10}; });
  timings sections;
  expect_cause([&] { const timer section{sections, "captured", s}; });
  expect_not_capturing();
}

// weir refuses a query of a captured event also after the capture broke. Its text does not call the
// capture valid then.
TEST_F(CaptureFailure, ARefusedQueryInABrokenCaptureNamesTheCallThatBrokeIt) {
  const event outside = t.record();
  const event mark{gpu};
  static_cast<void>(failure_of([&] {
    static_cast<void>(capture(s, [&] {
      s.record(mark);
      EXPECT_EQ(result_of([&] { s.wait(outside); }), errc::stream_capture_isolation);
      const auto refused = failure_of([&] { mark.sync(); });
      ASSERT_TRUE(refused);
      EXPECT_EQ(refused->result(), errc::captured_event);
      EXPECT_TRUE(message_contains(*refused, "which was broken by cuStreamWaitEvent at"))
          << refused->what();
    }));
  }));
}

TEST_F(CaptureFailure, ACallMadeDirectlyThroughTheDriverIsReportedAsTheBreakingCall) {
  const auto failure = failure_of([&] {
    static_cast<void>(
        capture(s, [&] { EXPECT_NE(driver().cuStreamSynchronize(s.get()), abi::CUDA_SUCCESS); }));
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::stream_capture_invalidated);
  EXPECT_TRUE(message_contains(*failure, "directly through the driver")) << failure->what();
  expect_not_capturing();
}

// If a call directly through the driver broke the capture, later failures in the capture or
// elsewhere are not named as the cause.
TEST_F(CaptureFailure, CallsThatFailAfterTheCaptureBrokeAreNotNamed) {
  const stream u{gpu};
  const event outside = u.record();
  const auto fails_after = [&](const auto& call) {
    begin_capture(s, {.mode = capture_mode::relaxed});
    fork();
    const event captured = s.record();
    EXPECT_NE(driver().cuStreamQuery(s.get()), abi::CUDA_SUCCESS);
    call(captured);
    const auto failure = failure_of([&] { static_cast<void>(end_capture(s)); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::stream_capture_invalidated);
    EXPECT_TRUE(message_contains(*failure, "directly through the driver")) << failure->what();
  };
  fails_after([&](const event&) {
    EXPECT_EQ(result_of([&] { fill(s, x, 1); }), errc::stream_capture_invalidated);
    EXPECT_EQ(result_of([&] { fill(t, x, 1); }), errc::stream_capture_invalidated);
    EXPECT_EQ(result_of([&] { s.wait(outside); }), errc::stream_capture_invalidated);
  });
  fails_after([&](const event&) {
    EXPECT_EQ(result_of([&] { copy(u, std::span{host}, std::span{host}.first(1)); }),
              errc::invalid_value);
    EXPECT_EQ(result_of([&] { launch_host_once(s, [] {}); }), errc::stream_capture_invalidated);
  });
  fails_after([&](const event& captured) {
    // The driver refuses the wait of a stream outside the capture.
    EXPECT_EQ(result_of([&] { u.wait(captured); }), errc::invalid_value);
  });
  expect_not_capturing();
}

// A capture of other code, which weir does not know, forbids calls of this thread. What the error
// advises makes the call work.
TEST_F(CaptureFailure, TheHintForACaptureOfOtherCodeHelps) {
  const auto expect_hint = [&](const auto& call) {
    {
      foreign_capture foreign{t, abi::CU_STREAM_CAPTURE_MODE_GLOBAL};
      const auto failure = failure_of(call);
      // After a capture in global mode through weir, weir makes such calls in relaxed mode.
      if (failure) {
        EXPECT_EQ(failure->result(), errc::stream_capture_unsupported) << failure->what();
        EXPECT_NE(failure->hint().find("weir::thread_capture_mode"), std::string::npos)
            << failure->what();
      }
      EXPECT_EQ(foreign.end(), !failure);
    }
    foreign_capture foreign{t, abi::CU_STREAM_CAPTURE_MODE_GLOBAL};
    {
      const thread_capture_mode relaxed{capture_mode::relaxed};
      call();
    }
    EXPECT_TRUE(foreign.end());
  };
  expect_hint([] { const pinned_buffer<int> made{64}; });
  expect_hint([&] { s.sync(); });
  const event mark = s.record();
  expect_hint([&] { mark.sync(); });
}

TEST_F(CaptureFailure, AHostFunctionErrorIsNotNamedAsTheBreakingCall) {
  const stream u{gpu};
  launch_host_once(u, [] { throw std::runtime_error{"the function's"}; });
  begin_capture(s, {.mode = capture_mode::relaxed});
  EXPECT_NE(driver().cuStreamQuery(s.get()), abi::CUDA_SUCCESS);
  EXPECT_THROW(u.sync(), std::runtime_error);
  const auto failure = failure_of([&] { static_cast<void>(end_capture(s)); });
  ASSERT_TRUE(failure);
  EXPECT_TRUE(message_contains(*failure, "directly through the driver")) << failure->what();
}

// A query that does not break the capture is not named either, here for an event of unknown state.
TEST_F(CaptureFailure, ARefusedElapsedTimeQueryIsNotNamedAsTheBreakingCall) {
  const timed_event mark{gpu};
  begin_capture(s, {.mode = capture_mode::relaxed});
  foreign_capture foreign{t, abi::CU_STREAM_CAPTURE_MODE_RELAXED};
  EXPECT_EQ(driver().cuEventRecord(mark.get(), t.get()), abi::CUDA_SUCCESS);
  EXPECT_NE(driver().cuStreamQuery(s.get()), abi::CUDA_SUCCESS);
  EXPECT_EQ(result_of([&] { static_cast<void>(elapsed(mark, mark)); }), errc::captured_event);
  EXPECT_TRUE(foreign.end());
  const auto failure = failure_of([&] { static_cast<void>(end_capture(s)); });
  ASSERT_TRUE(failure);
  EXPECT_TRUE(message_contains(*failure, "directly through the driver")) << failure->what();
}

// The error of each of two captures names the call that broke that capture.
TEST_F(CaptureFailure, ACallThatBreaksOneCaptureIsNotNamedByAnother) {
  const stream u{gpu};
  const event outside = u.record();
  begin_capture(s, {.mode = capture_mode::relaxed});
  begin_capture(t, {.mode = capture_mode::relaxed});
  EXPECT_NE(driver().cuStreamQuery(s.get()), abi::CUDA_SUCCESS);
  EXPECT_EQ(result_of([&] { t.wait(outside); }), errc::stream_capture_isolation);
  const auto of_s = failure_of([&] { static_cast<void>(end_capture(s)); });
  const auto of_t = failure_of([&] { static_cast<void>(end_capture(t)); });
  ASSERT_TRUE(of_s && of_t);
  EXPECT_TRUE(message_contains(*of_s, "directly through the driver")) << of_s->what();
  EXPECT_TRUE(message_contains(*of_t, "cuStreamWaitEvent at")) << of_t->what();
  expect_not_capturing();
}

// The driver would break both captures, and GPUs' drivers crash if one records into a body of the
// other's graph.
TEST_F(CaptureFailure, AWaitBetweenTwoCapturesIsRefusedAndBothContinue) {
  for (const stream_ref each : {s.ref(), t.ref()})
    begin_capture(each, {.mode = capture_mode::relaxed});
  const event mark = s.record();
  for (const bool by_event : {true, false}) {
    const auto merge = failure_of([&] { by_event ? t.wait(mark) : t.wait(s); });
    ASSERT_TRUE(merge);
    EXPECT_EQ(merge->result(), errc::stream_capture_merge);
    EXPECT_TRUE(message_contains(*merge, "different captures")) << merge->what();
  }
  for (const stream_ref each : {s.ref(), t.ref()}) fill(each, each == s ? x : y, 1);
  EXPECT_EQ(end_capture(s).node_count(), 1u);
  EXPECT_EQ(end_capture(t).node_count(), 1u);
  expect_not_capturing();
}

// weir does not track an event that was recorded directly through the driver. Querying it breaks
// the capture, and the error says so.
TEST_F(CaptureFailure, ABreakingQueryThatDoesNotThrowIsNamed) {
  const event mark{gpu};
  begin_capture(s);
  EXPECT_EQ(driver().cuEventRecord(mark.get(), s.get()), abi::CUDA_SUCCESS);
  EXPECT_EQ(mark.status(), errc::captured_event);
  const auto failure = failure_of([&] { static_cast<void>(end_capture(s)); });
  ASSERT_TRUE(failure);
  EXPECT_TRUE(message_contains(*failure, "broken by cuEventQuery (")) << failure->what();
  expect_not_capturing();
}

// An event of an earlier capture joins no stream to the next capture, and breaks it if its stream
// waits for the event.
TEST_F(CaptureFailure, AnEventOfAnEarlierCaptureJoinsNoStream) {
  const event mark{gpu};
  for (const bool past_weir : {false, true}) {
    begin_capture(s);
    s.record(mark);
    if (past_weir) {
      abi::CUgraph ended = nullptr;
      EXPECT_EQ(driver().cuStreamEndCapture(s.get(), &ended), abi::CUDA_SUCCESS);
      EXPECT_EQ(driver().cuGraphDestroy(ended), abi::CUDA_SUCCESS);
    } else {
      static_cast<void>(end_capture(s));
    }
    const graph g = capture(s, [&] {
      fill(s, x, 1);
      EXPECT_EQ(result_of([&] { t.wait(mark); }), errc::invalid_value);
      EXPECT_EQ(capture_status_of(t), capture_status::none);
    });
    EXPECT_EQ(g.node_count(), 1u);
    const auto failure = failure_of([&] {
      static_cast<void>(capture(s, [&] {
        EXPECT_EQ(result_of([&] { t.wait(mark); }), errc::invalid_value);
        EXPECT_EQ(result_of([&] { s.wait(mark); }), errc::invalid_value);
      }));
    });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::stream_capture_invalidated);
    EXPECT_TRUE(message_contains(*failure, "cuStreamWaitEvent at")) << failure->what();
    EXPECT_FALSE(message_contains(*failure, to_string(t))) << failure->what();
  }
  expect_not_capturing();
}

// If a capture was ended directly through the driver, the error of the stream's next capture does
// not name the call that began the earlier one.
TEST_F(CaptureFailure, ACaptureDoesNotReportTheBeginOfAnEarlierCapture) {
  begin_capture(s, {.mode = capture_mode::relaxed});
  const unsigned line = __LINE__ - 1;
  fork();
  abi::CUgraph ended = nullptr;
  EXPECT_EQ(driver().cuStreamEndCapture(s.get(), &ended), abi::CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(driver().cuStreamBeginCapture_v2(s.get(), abi::CU_STREAM_CAPTURE_MODE_RELAXED),
            abi::CUDA_SUCCESS);
  const event mark = s.record();  // here weir sees that this is another capture
  EXPECT_EQ(result_of([&] { mark.sync(); }), errc::captured_event);
  const auto failure = failure_of([&] { static_cast<void>(end_capture(s)); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::stream_capture_invalidated);
  EXPECT_FALSE(message_contains(*failure, "capture_failure_test.cpp:" + std::to_string(line)))
      << failure->what();
  EXPECT_EQ(detail::active_capture_count.load(), 0);
  expect_not_capturing();
}

}  // namespace
}  // namespace weir
