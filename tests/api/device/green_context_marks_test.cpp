// SPDX-License-Identifier: Apache-2.0
// green_context_marks_test.cpp - recording and waiting for events on all streams of a green
// context.
#include <weir/capture/capture.hpp>
#include <weir/device/green_context.hpp>

#include <gtest/gtest.h>

#include "green_context_fixture.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::gate;
using test::result_of;

using GreenContextMarks = test::green_context_fixture;

TEST_F(GreenContextMarks, AGreenContextRecordCoversItsOwnStreamsOnly) {
  const green_context green{some()};
  const stream in{green};
  const stream also_in{green};
  const stream outside{gpu};
  const event mark{gpu};
  gate held_outside{outside};
  green.record(mark);
  mark.sync();
  gate held{also_in};
  green.record(mark);
  EXPECT_FALSE(mark.done());
  held.open();
  mark.sync();
  held_outside.open();
  outside.sync();
}

TEST_F(GreenContextMarks, AGreenContextWaitBlocksAllItsStreams) {
  const green_context green{some()};
  const stream in{green};
  const stream outside{gpu};
  gate held{outside};
  const event mark = outside.record();
  green.wait(mark);
  const stream made_later{green};
  const event first = in.record();
  const event second = made_later.record();
  EXPECT_FALSE(first.done());
  EXPECT_FALSE(second.done());
  held.open();
  first.sync();
  second.sync();
}

TEST_F(GreenContextMarks, ADeviceSyncWaitsForStreamsOfAGreenContext) {
  const green_context green{some()};
  const stream s{green};
  gate held{s};
  const event mark = s.record();
  held.open();
  gpu.sync();
  EXPECT_TRUE(mark.done());
}

// Recording all streams of the context would break the capture of one of them.
TEST_F(GreenContextMarks, AGreenContextRecordIsRefusedWhileOneOfItsStreamsCaptures) {
  const green_context half{some()};
  const stream s{half};
  const event mark{gpu};
  const graph g = capture(s, [&] {
    EXPECT_EQ(result_of([&] { half.record(mark); }), errc::stream_capture_unsupported);
    EXPECT_EQ(result_of([&] { half.wait(mark); }), errc::stream_capture_unsupported);
  });
  EXPECT_EQ(g.node_count(), 0u);
}

// An event belongs to a capture until it is recorded again, also by a record of a green context.
TEST_F(GreenContextMarks, AGreenContextRecordRemovesAnEventFromACapture) {
  const green_context half{some()};
  const stream s{gpu};
  const event mark{gpu};
  const graph g = capture(s, [&] {
    s.record(mark);
    half.record(mark);
    EXPECT_EQ(result_of([&] { mark.sync(); }), errc::success);
  });
  EXPECT_EQ(g.node_count(), 0u);
}

}  // namespace
}  // namespace weir
