// SPDX-License-Identifier: Apache-2.0
// How the steps of a chunk are distributed over streams, and how a file is split into chunks.
#include "stage/pipeline_streams.hpp"
#include "stage/plan.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>

namespace weir::tool {
namespace {

constexpr std::array steps{step::in, step::across, step::out, step::check};

TEST(PipelineStreams, StepsUseEveryStreamAndNoOther) {
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

TEST(PipelineStreams, FourStreamsTakeOneStepEach) {
  EXPECT_EQ(streams_of(step::in, 4), (stream_range{0, 1}));
  EXPECT_EQ(streams_of(step::across, 4), (stream_range{1, 1}));
  EXPECT_EQ(streams_of(step::out, 4), (stream_range{2, 1}));
  EXPECT_EQ(streams_of(step::check, 4), (stream_range{3, 1}));
}

// Several streams pay off because the two copy directions do not share a stream.
TEST(PipelineStreams, TwoOrMoreStreamsSeparateCopyInFromCopyOut) {
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

TEST(Plan, ASmallFileUsesLittleMemory) {
  const plan fitted = plan{}.fitted_to(1);
  EXPECT_EQ(fitted.chunk_bytes, 1u);
  EXPECT_EQ(fitted.in_flight, 1);
}

plan replayed(std::size_t chunk_bytes, int in_flight) {
  plan p;
  p.chunk_bytes = chunk_bytes;
  p.in_flight = in_flight;
  return p.with_graph();
}

TEST(Plan, ARoundIsAtMostHalfTheChunksInFlightAndOneMebibyte) {
  EXPECT_EQ(replayed(1024, 8).round_chunks(), 4u);
  EXPECT_EQ(replayed(1024, 7).round_chunks(), 3u);
  EXPECT_EQ(replayed(1024, 1).round_chunks(), 1u);
  EXPECT_EQ(replayed(std::size_t{512} << 10, 8).round_chunks(), 2u);
  EXPECT_EQ(replayed(std::size_t{2} << 20, 8).round_chunks(), 1u);
}

TEST(Plan, RoundsContainFullChunksWithOneRoundOfChunksBeforeAndAfter) {
  for (const int in_flight : {1, 2, 3, 7, 8}) {
    const plan p = replayed(10, in_flight);
    const std::uint64_t round = p.round_chunks();
    for (std::uint64_t size = 1; size < 300; ++size) {
      const std::uint64_t rounds = p.rounds(size);
      if (rounds == 0) continue;
      const std::uint64_t end = round * (1 + rounds);
      ASSERT_LE(end * 10, size) << in_flight;
      ASSERT_GE(p.chunks(size) - end, round) << in_flight << ", " << size;
      ASSERT_LT(p.chunks(size) - end, 2 * round) << in_flight << ", " << size;
    }
  }
  EXPECT_EQ(replayed(10, 8).rounds(119), 1u);
  EXPECT_EQ(replayed(10, 8).rounds(110), 0u);
}

TEST(Plan, SlotsAreAMultipleOfTheRoundSize) {
  EXPECT_EQ(replayed(10, 7).slots(), 6u);
  EXPECT_EQ(replayed(10, 1).slots(), 1u);
  EXPECT_EQ(replayed(std::size_t{2} << 20, 7).slots(), 7u);
}

TEST(Plan, APlanWithoutAGraphHasNoRounds) {
  EXPECT_EQ(plan{}.rounds(std::uint64_t{1} << 40), 0u);
  EXPECT_EQ((plan{.chunk_bytes = 10, .in_flight = 7}.slots()), 7u);
}

}  // namespace
}  // namespace weir::tool
