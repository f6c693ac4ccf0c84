// SPDX-License-Identifier: Apache-2.0
// profiler_test.cpp - the code that docs/guide/profiler.md shows.
#include <gtest/gtest.h>

#include <weir/weir.hpp>

namespace {

TEST(ProfilerPage, AScopeLimitsTheProfile) {
  const weir::stream s{weir::device{}};
  weir::buffer<int> x{s, 1000};
  // [profiler-scope]
  {
    weir::profiler_scope recorded;  // begins here
    weir::fill(s, x, 1);
    s.sync();  // work still queued at the end may be missing
  }            // ends here
  // [/profiler-scope]
  EXPECT_TRUE(s.done());
}

}  // namespace
