// SPDX-License-Identifier: Apache-2.0
// timing_test.cpp - the code that docs/guide/timing.md shows.
#include <gtest/gtest.h>

#include <cstdio>
#include <weir/weir.hpp>

namespace {

TEST(TimingPage, ATimerMeasuresEachSection) {
  const weir::device gpu;
  const weir::stream s{gpu};
  weir::pinned_buffer<float> host{1000};
  weir::buffer<float> x{s, 1000};
  // [timing-first]
  weir::timings times;
  for (int i = 0; i < 3; ++i) {
    weir::timer t{times, "upload", s};  // from here to the end of the block
    weir::copy(s, host, x);
  }

  times.sync();  // the first wait
  for (const weir::timing& t : times.all()) {
    std::printf("%s: %zu times, %.3f ms each\n", t.name.c_str(), t.count, t.mean());
  }
  // [/timing-first]
  EXPECT_EQ(times.find("upload")->count, 3u);
}

}  // namespace
