// SPDX-License-Identifier: Apache-2.0
// ordering_test.cpp - the code that docs/guide/ordering.md shows.
#include <gtest/gtest.h>

#include <weir/weir.hpp>

namespace {

TEST(OrderingPage, WaitsForkAndJoinStreams) {
  const weir::device gpu;
  const weir::stream s{gpu}, t{gpu};
  weir::pinned_buffer<int> a{1000, gpu}, b{1000, gpu};
  // [ordering-fork-join]
  weir::fill(s, a, 1);
  t.wait(s);  // t continues after the fill
  weir::copy(t, a, b);
  s.wait(t);  // and s after the copy
  weir::fill(s, a, 2);
  s.sync();
  // [/ordering-fork-join]
  EXPECT_EQ(b[999], 1);
  EXPECT_EQ(a[999], 2);
}

TEST(OrderingPage, BlockingStreamsAreOrderedByTheLegacyStream) {
  const weir::device gpu;
  weir::pinned_buffer<int> a{100, gpu};
  // [ordering-default]
  weir::context_scope current{gpu};  // a default stream belongs to the current context
  weir::stream blocking{gpu, {.kind = weir::stream_kind::blocking}};
  weir::fill(blocking, a, 1);
  weir::fill(weir::stream_ref::legacy(), a, 2);  // after the first, without a wait
  weir::fill(blocking, a, 3);                    // after the second
  blocking.sync();
  // [/ordering-default]
  EXPECT_EQ(a[99], 3);
}

}  // namespace
