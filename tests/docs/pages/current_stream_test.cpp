// SPDX-License-Identifier: Apache-2.0
// current_stream_test.cpp - the code that docs/guide/current-stream.md shows.
#include <gtest/gtest.h>

#include <weir/weir.hpp>

namespace {

TEST(CurrentStreamPage, AScopeRestoresTheCurrentStream) {
  const weir::device gpu;
  const weir::context_scope context{gpu};
  const weir::stream_ref before = weir::current_stream();
  weir::pinned_buffer<int> x{10, gpu};
  // [current-scope]
  weir::stream s{gpu};
  {
    weir::stream_scope current{s};
    weir::fill(weir::current_stream(), x, 1);  // on s
  }                                            // the previous stream is current again
  // [/current-scope]
  EXPECT_EQ(weir::current_stream(), before);
  s.sync();
  EXPECT_EQ(x[9], 1);
}

TEST(CurrentStreamPage, AScopeWaitsOnEntryAndExit) {
  const weir::device gpu;
  const weir::context_scope context{gpu};
  weir::stream s{gpu};
  weir::pinned_buffer<int> x{10, gpu};
  // [current-ordered]
  {
    weir::stream_scope current{s, {.wait_on_entry = true, .wait_on_exit = true}};
    weir::fill(weir::current_stream(), x, 2);
  }
  weir::current_stream().sync();  // also for s: the previous stream waits for it
  // [/current-ordered]
  EXPECT_EQ(x[9], 2);
}

}  // namespace
