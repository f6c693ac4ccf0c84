// SPDX-License-Identifier: Apache-2.0
// events_test.cpp - the code that docs/guide/events.md shows.
#include <gtest/gtest.h>

#include <weir/weir.hpp>

namespace {

TEST(EventsPage, AWaitKeepsTheRecordItSaw) {
  const weir::device gpu;
  const weir::stream s{gpu}, t{gpu};
  // [events-record]
  weir::event e = s.record();  // a new event that marks the work queued so far

  weir::event kept{gpu};  // or an event that is kept and recorded again
  s.record(kept);
  t.wait(kept);    // this wait is for the record above,
  s.record(kept);  // even if the event is recorded later
  // [/events-record]
  t.sync();
  s.sync();
  EXPECT_TRUE(e.done() && kept.done());
}

TEST(EventsPage, TimedEventsMeasureTime) {
  const weir::device gpu;
  const weir::stream s{gpu};
  weir::buffer<int> x{s, 1000};
  // [events-timing]
  weir::timed_event start = s.record_timed();
  weir::fill(s, x, 1);
  weir::timed_event end = s.record_timed();
  float milliseconds = weir::sync_elapsed(start, end);
  // [/events-timing]
  EXPECT_GE(milliseconds, 0.0f);
}

TEST(EventsPage, AGraphRecordsAnEventAtEachLaunch) {
  const weir::device gpu;
  const weir::stream s{gpu}, t{gpu};
  weir::buffer<int> x{s, 1000}, y{s, 1000};
  // [events-external]
  weir::event half{gpu};
  weir::graph g = weir::capture(s, [&] {
    weir::fill(s, x, 1);
    s.record(half, weir::external);  // recorded at each launch
    weir::fill(s, y, 2);
  });
  g.instantiate().launch(s);
  t.wait(half);  // for the first fill of that launch
  // [/events-external]
  EXPECT_EQ(g.node_count(), 3u);
  t.sync();
  s.sync();
}

}  // namespace
