// SPDX-License-Identifier: Apache-2.0
// value_waits_test.cpp - the code that docs/guide/value-waits.md shows.
#include <gtest/gtest.h>

#include <cstdint>
#include <weir/weir.hpp>

namespace {

TEST(ValueWaitsPage, AWordOrdersTwoStreams) {
  const weir::device gpu;
  const weir::stream s{gpu};
  const weir::stream t{gpu};
  weir::buffer<float> x{s, 100};
  weir::pinned_buffer<float> y{100};
  // [value-waits-first]
  weir::wait_word<std::uint32_t> filled;  // 0, in memory that the host and every device reach

  weir::wait_value(t, filled, weir::until::geq, 1);  // t waits, on the device
  weir::copy(t, x, y);

  weir::fill(s, x, 2.0f);
  weir::write_value(s, filled, 1);  // behind the fill; or filled.store(1), from the host
  // [/value-waits-first]
  t.sync();
  EXPECT_EQ(y[99], 2.0f);
  EXPECT_EQ(filled.load(), 1u);
}

TEST(ValueWaitsPage, ABatchWaitsAndWrites) {
  const weir::device gpu;
  const weir::stream s{gpu};
  weir::wait_word<std::uint32_t> filled{1};
  weir::wait_word<std::uint32_t> emptied;
  weir::pinned_buffer<std::uint64_t> counters{8};
  // [value-waits-batch]
  weir::value_batch step;
  step.wait(filled, weir::until::geq, 1)
      .write(emptied, 1)
      .write(weir::wait_word_ref{counters, 3}, 7);  // an element of a pinned buffer
  step.submit(s);
  // [/value-waits-batch]
  s.sync();
  EXPECT_EQ(emptied.load(), 1u);
  EXPECT_EQ(counters[3], 7u);
}

}  // namespace
