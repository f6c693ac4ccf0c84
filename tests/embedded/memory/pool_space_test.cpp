// SPDX-License-Identifier: Apache-2.0
// pool_space_test.cpp - a pool's blocks and chunks: split, merged, released, and never shared.
#include "pool_fixture.hpp"

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "embedded/model/memory/pool/pool_space.hpp"

namespace weir::embedded {
namespace {

class PoolSpace : public pool_test {};

// A freed block is split for smaller blocks, and merged again for a larger one.
TEST_F(PoolSpace, FreedBlocksAreSplitAndMerged) {
  test_pool pool;
  test_stream s;
  const CUdeviceptr all = pool.allocate(chunk, s);
  release(all, s);
  std::vector<CUdeviceptr> parts;
  for (std::size_t i = 0; i < 4; ++i) {
    parts.push_back(pool.allocate(chunk / 4, s));
    EXPECT_EQ(parts.back(), all + i * chunk / 4 * model::redzone_factor);
  }
  release(parts[1], s);
  release(parts[2], s);
  EXPECT_EQ(pool.allocate(chunk / 2, s), parts[1]);
  EXPECT_EQ(pool.reserved(), chunk);
  release(parts[1], s);
  release(parts[0], s);
  release(parts[3], s);
  EXPECT_EQ(pool.allocate(chunk, s), all);
  EXPECT_EQ(pool.reserved(), chunk);
  release(all, s);
  s.synchronize();
}

// A chunk is released once no block reaches into it. A block larger than a chunk starts in the rest
// of the last one.
TEST_F(PoolSpace, ChunksAreReleasedWhenNoBlockReachesIntoThem) {
  test_pool pool{0};
  test_stream s;
  const CUdeviceptr a = pool.allocate(chunk / 8 * 5, s);
  const CUdeviceptr b = pool.allocate(chunk / 8 * 5, s);
  const CUdeviceptr c = pool.allocate(chunk / 8 * 5, s);
  EXPECT_EQ(b, a + chunk / 8 * 5 * model::redzone_factor);
  EXPECT_EQ(c, b + chunk / 8 * 5 * model::redzone_factor);
  EXPECT_EQ(pool.reserved(), 2 * chunk);
  release(a, s);
  s.synchronize();
  EXPECT_EQ(pool.reserved(), 2 * chunk);
  release(b, s);
  s.synchronize();
  EXPECT_EQ(pool.reserved(), chunk);
  EXPECT_EQ(driver.cuMemsetD8Async(c, 1, chunk / 8 * 5, s), CUDA_SUCCESS);
  release(c, s);
  s.synchronize();
  EXPECT_EQ(pool.reserved(), 0u);
}

// Streams allocate, write, read and free at random, far ahead of the device. Each finds its own
// values, so no block had two owners.
RC_GTEST_FIXTURE_PROP(PoolSpace, NoBlockIsSharedByWorkThatMayOverlap, ()) {
  struct owned {
    CUdeviceptr address;
    std::size_t words;
    std::uint32_t tag;
    std::size_t stream;
  };
  constexpr std::size_t most_reads = 200;
  test_pool pool{*rc::gen::element<cuuint64_t>(0, mega, ~cuuint64_t{0})};
  const std::vector<std::unique_ptr<test_stream>> streams = [] {
    std::vector<std::unique_ptr<test_stream>> made;
    for (int i = 0; i < 3; ++i) made.push_back(std::make_unique<test_stream>());
    return made;
  }();
  const pinned_block results{most_reads * 2 * sizeof(std::uint32_t)};
  std::vector<std::uint32_t> tags;
  std::vector<owned> live;

  // Reads the first and the last word of a block at the end of its owner's work.
  const auto read_and_free = [&](std::size_t i) {
    const owned block = live[i];
    const CUstream s = *streams[block.stream];
    const CUdeviceptr out = results.address() + tags.size() * 2 * sizeof(std::uint32_t);
    RC_ASSERT(driver.cuMemcpyAsync(out, block.address, 4, s) == CUDA_SUCCESS);
    RC_ASSERT(driver.cuMemcpyAsync(out + 4, block.address + (block.words - 1) * 4, 4, s) ==
              CUDA_SUCCESS);
    RC_ASSERT(driver.cuMemFreeAsync(block.address, s) == CUDA_SUCCESS);
    tags.push_back(block.tag);
    live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
  };

  const auto count = *rc::gen::inRange<std::uint32_t>(1, most_reads);
  for (std::uint32_t tag = 1; tag <= count; ++tag) {
    if (!live.empty() && *rc::gen::arbitrary<bool>())
      read_and_free(*rc::gen::inRange<std::size_t>(0, live.size()));
    const std::size_t stream = *rc::gen::inRange<std::size_t>(0, streams.size());
    const std::size_t words = *rc::gen::element<std::size_t>(1, 100, 128, 3000, 70000);
    const CUdeviceptr address = pool.allocate(words * 4, *streams[stream]);
    RC_ASSERT(driver.cuMemsetD32Async(address, tag, words, *streams[stream]) == CUDA_SUCCESS);
    live.push_back({address, words, tag, stream});
    if (*rc::gen::inRange(0, 10) == 0) streams[stream]->synchronize();
  }
  while (!live.empty()) read_and_free(live.size() - 1);
  for (const auto& s : streams) s->synchronize();
  for (std::size_t i = 0; i < tags.size(); ++i) {
    RC_ASSERT(words_at(results.address())[2 * i] == tags[i]);
    RC_ASSERT(words_at(results.address())[2 * i + 1] == tags[i]);
  }
  RC_ASSERT(pool.used() == 0u);
}

}  // namespace
}  // namespace weir::embedded
