// SPDX-License-Identifier: Apache-2.0
// profiling_test.cpp - the code that docs/guide/profiling.md shows.
#include <gtest/gtest.h>

#include <weir/weir.hpp>

namespace {

TEST(ProfilingPage, NamesAndRangesAreVisibleToAProfiler) {
  const weir::device gpu;
  // [profiling-names]
  weir::stream s{gpu};
  weir::set_name(s, "copies");
  weir::set_thread_name("feeder");
  {
    const weir::profile_range range{"load a batch"};
    weir::buffer<float> x{s, 1000};
    weir::fill(s, x, 0.0f);
    weir::profile_mark("queued");
  }
  // [/profiling-names]
  s.sync();
  EXPECT_EQ(weir::name_of(s), "copies");
}

}  // namespace
