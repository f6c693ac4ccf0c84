// How the steps of a chunk are spread over streams, and how a file is cut up.
#include "stage/lanes.hpp"
#include "stage/plan.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>

namespace weir::tool {
namespace {

constexpr std::array steps{step::in, step::across, step::out, step::check};

TEST(Lanes, EveryStreamIsUsedAndNoOther) {
  for (int streams = 1; streams <= 64; ++streams) {
    std::set<int> used;
    for (const step s : steps) {
      const stream_range range = streams_of(s, streams);
      ASSERT_GE(range.count, 1) << streams;
      for (int i = 0; i < range.count; ++i) used.insert(range.first + i);
    }
    ASSERT_EQ(*used.begin(), 0) << streams;
    ASSERT_EQ(*used.rbegin(), streams - 1) << streams;
    ASSERT_EQ(used.size(), static_cast<std::size_t>(streams));
  }
}

TEST(Lanes, FourStreamsTakeOneStepEach) {
  EXPECT_EQ(streams_of(step::in, 4), (stream_range{0, 1}));
  EXPECT_EQ(streams_of(step::across, 4), (stream_range{1, 1}));
  EXPECT_EQ(streams_of(step::out, 4), (stream_range{2, 1}));
  EXPECT_EQ(streams_of(step::check, 4), (stream_range{3, 1}));
}

// What makes several streams worth while is that the two directions do not share one.
TEST(Lanes, InAndOutAreApartFromTwoStreamsOn) {
  for (int streams = 2; streams <= 64; ++streams) {
    const stream_range in = streams_of(step::in, streams);
    EXPECT_LE(in.first + in.count, streams_of(step::out, streams).first) << streams;
  }
}

TEST(Plan, OnlyTheLastChunkIsShorter) {
  plan p;
  p.chunk_bytes = 10;
  EXPECT_EQ(p.chunks(1), 1u);
  EXPECT_EQ(p.chunks(10), 1u);
  EXPECT_EQ(p.chunks(11), 2u);
  EXPECT_EQ(p.bytes_of(0, 11), 10u);
  EXPECT_EQ(p.bytes_of(1, 11), 1u);
}

TEST(Plan, ASmallFileTakesLittleMemory) {
  const plan fitted = plan{}.fitted_to(1);
  EXPECT_EQ(fitted.chunk_bytes, 1u);
  EXPECT_EQ(fitted.in_flight, 1);
}

}  // namespace
}  // namespace weir::tool
