// SPDX-License-Identifier: Apache-2.0
// external_event_test.cpp - events that were recorded in captures: what they answer after the
// capture, and records and waits that act on the event at each launch.
#include <weir/capture/capture.hpp>
#include <weir/completion/completion.hpp>
#include <weir/core/error.hpp>
#include <weir/event/event.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::gate;

class ExternalEvent : public ::testing::Test {
 protected:
  template <class Call>
  static void expect_explained(const Call& call) {
    const auto failure = failure_of(call);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::invalid_value) << failure->what();
    EXPECT_NE(failure->hint().find("recorded in a capture that has ended"), std::string::npos)
        << failure->what();
  }

  device gpu;
  stream s{gpu};
  stream t{gpu};
  pinned_buffer<int> x{64};
};

// An event of a capture that has ended has no answer, and each error says why.
TEST_F(ExternalEvent, AnEventOfAnEndedCaptureExplainsItself) {
  const event mark{gpu};
  const timed_event timed{gpu};
  const graph g = capture(s, [&] {
    fill(s, x, 1);
    s.record(mark);
    s.record(timed);
  });
  expect_explained([&] { mark.sync(); });
  expect_explained([&] { static_cast<void>(mark.done()); });
  expect_explained([&] { static_cast<void>(mark.sync_for(std::chrono::milliseconds{1})); });
  expect_explained([&] { static_cast<void>(mark.completion()); });
  expect_explained([&] { t.wait(mark); });
  expect_explained([&] { static_cast<void>(elapsed(timed, timed)); });
  expect_explained([&] { static_cast<void>(sync_elapsed(timed, timed)); });
  s.record(mark);
  mark.sync();
}

// Also while another capture is open, and where the wait breaks that capture.
TEST_F(ExternalEvent, AnEventOfAnEarlierCaptureExplainsItselfInALaterOne) {
  const event mark{gpu};
  static_cast<void>(capture(s, [&] {
    fill(s, x, 1);
    s.record(mark);
  }));
  expect_explained([&] { static_cast<void>(capture(s, [&] { static_cast<void>(mark.done()); })); });
  expect_explained([&] { static_cast<void>(capture(s, [&] { s.wait(mark); })); });
}

TEST_F(ExternalEvent, AnExternalRecordActsAtEachLaunch) {
  const event done{gpu};
  const graph g = capture(s, [&] {
    fill(s, x, 7);
    s.record(done, external);
    fill(s, x, 8);
  });
  EXPECT_EQ(g.node_count(), 3u);
  EXPECT_TRUE(done.done()) << "the capture records nothing";
  const graph_exec exec = g.instantiate();
  gate held{s};
  exec.launch(s);
  EXPECT_FALSE(done.done());
  t.wait(done);
  held.open();
  t.sync();
  EXPECT_TRUE(done.done());
  s.sync();
  EXPECT_EQ(x[0], 8);
}

TEST_F(ExternalEvent, AnExternalWaitActsAtEachLaunch) {
  const event ready{gpu};
  const graph g = capture(s, [&] {
    s.wait(ready, external);
    fill(s, x, 7);
  });
  const graph_exec exec = g.instantiate();
  for (int launch = 0; launch < 2; ++launch) {
    x[0] = 0;
    gate held{t};
    t.record(ready);
    exec.launch(s);
    EXPECT_FALSE(s.done());
    held.open();
    s.sync();
    EXPECT_EQ(x[0], 7);
  }
}

// Timed events that a graph records measure the time of a part of it.
TEST_F(ExternalEvent, ExternalRecordsOfTimedEventsMeasureAPartOfAGraph) {
  const timed_event from{gpu};
  const timed_event to{gpu};
  const graph g = capture(s, [&] {
    s.record(from, external);
    fill(s, x, 7);
    s.record(to, external);
  });
  g.instantiate().launch(s);
  EXPECT_GE(sync_elapsed(from, to), 0.0f);
}

TEST_F(ExternalEvent, ExternalIsRefusedOutsideCaptures) {
  const event mark{gpu};
  for (const bool records : {true, false}) {
    const auto failure =
        failure_of([&] { records ? s.record(mark, external) : s.wait(mark, external); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::illegal_state);
    EXPECT_NE(failure->hint().find("weir::external is for captures"), std::string::npos)
        << failure->what();
  }
}

}  // namespace
}  // namespace weir
