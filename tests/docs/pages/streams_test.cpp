// SPDX-License-Identifier: Apache-2.0
// streams_test.cpp - the code that docs/guide/streams.md shows.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <weir/weir.hpp>

namespace {

void library_function(weir::stream_ref s) { s.sync(); }

TEST(StreamsPage, StreamsAreCreatedWithOptions) {
  // [streams-make]
  weir::device gpu;  // device 0
  weir::stream s{gpu};
  weir::stream urgent{gpu, {.priority = gpu.priorities().greatest}};
  weir::stream old_style{gpu, {.kind = weir::stream_kind::blocking}};
  // [/streams-make]
  EXPECT_TRUE(old_style.is_blocking());
  EXPECT_LE(urgent.priority(), s.priority());
}

TEST(StreamsPage, AReferenceSurvivesAMoveOfItsOwner) {
  weir::device gpu;
  // [streams-reference]
  weir::stream owner{gpu};
  weir::stream_ref s = owner;  // a pointer; pass it by value
  library_function(owner);     // takes a stream_ref
  weir::stream moved = std::move(owner);
  s.sync();  // valid: the stream belongs to `moved` now
  // [/streams-reference]
  EXPECT_EQ(s, moved);
  EXPECT_TRUE(
      owner.closed());  // NOLINT(bugprone-use-after-move): that this is safe is what is shown
}

TEST(StreamsPage, ShutdownClosesAStream) {
  weir::device gpu;
  // [streams-end]
  weir::stream s{gpu};
  s.shutdown();  // waits, destroys, and throws the first error
  // [/streams-end]
  EXPECT_TRUE(s.closed());
}

TEST(StreamsPage, AStreamReturnsItsProperties) {
  weir::device gpu;
  weir::stream s{gpu};
  // [streams-ask]
  unsigned long long id = s.id();  // never reused in this process
  weir::device where = s.device();
  int priority = s.priority();
  bool blocking = s.is_blocking();
  std::string text = weir::to_string(s);  // "stream 0x55d0c8 (device 0)"
  // [/streams-ask]
  EXPECT_NE(id, weir::stream{gpu}.id());
  EXPECT_EQ(where, gpu);
  EXPECT_EQ(priority, 0);
  EXPECT_FALSE(blocking);
  EXPECT_NE(text.find("device 0"), std::string::npos);
}

}  // namespace
