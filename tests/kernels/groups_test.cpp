// SPDX-License-Identifier: Apache-2.0
// groups_test.cpp - kernels with cooperative groups.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

class Groups : public kernel_fixture {
 protected:
  const module& code = kernel_module("groups");
};

TEST_F(Groups, GroupsReportTheRankOfAThread) {
  const int n = 203;
  for (const unsigned block : {32u, 72u}) {
    std::vector<int> expected;
    for (int i = 0; i < n; ++i) {
      const int rank = i % static_cast<int>(block);
      expected.insert(expected.end(), {rank, rank % 8, rank / 8, 8});
    }
    trial t{s};
    auto& told = t.zeros<int>(4 * n);
    t.run([&](stream_ref on) { run(on, grid_1d(n, block), code.kernel("places"), told, n); },
          [&] { expect_equal(told.read(), expected); });
  }
}

TEST_F(Groups, TilesSumTheirElements) {
  for (const unsigned size : {2u, 4u, 16u, 32u}) {
    for (const unsigned block : {32u, 160u}) {
      const unsigned n = 3 * block;
      const std::vector<int> x = random_values<int>(n, -1000, 1000);
      std::vector<int> expected(n / size);
      for (unsigned i = 0; i < n; ++i) {
        const unsigned taken = i / block * block + block - 1 - i % block;
        expected[i / size] += x[taken];
      }
      trial t{s};
      auto& xs = t.array_of(x);
      auto& sums = t.zeros<int>(expected.size());
      const kernel sum = code.kernel("sum_tiles<" + std::to_string(size) + ">");
      t.run([&](stream_ref on) { run(on, grid_1d(n, block, block * 4), sum, xs, sums); },
            [&] { expect_equal(sums.read(), expected); });
    }
  }
}

TEST_F(Groups, CoalescedThreadsAppendTogether) {
  const int n = 2005;
  const std::vector<int> x = random_values<int>(n, 0, 100000);
  std::vector<int> expected;
  std::ranges::copy_if(x, std::back_inserter(expected), [](int v) { return v % 2 == 0; });
  std::ranges::sort(expected);
  for (const auto& [grid, block] : {std::pair{1u, 32u}, {5u, 96u}, {20u, 128u}}) {
    trial t{s};
    auto& xs = t.array_of(x);
    auto& kept = t.zeros<int>(n);
    auto& count = t.zeros<int>(1);
    t.run(
        [&](stream_ref on) {
          run(on, {.grid = {grid}, .block = {block}}, code.kernel("keep_even"), xs, n, kept, count);
        },
        [&] {
          const int found = count.read()[0];
          ASSERT_EQ(found, static_cast<int>(expected.size()));
          std::vector<int> sorted = kept.read();
          sorted.resize(found);
          std::ranges::sort(sorted);
          expect_equal(sorted, expected);
        });
  }
}

TEST_F(Groups, TilesVoteAndShuffle) {
  const unsigned block = 96;
  const unsigned n = 3 * block;
  const std::vector<int> x = random_values<int>(n, -100, 100);
  std::vector<std::uint32_t> expected(n);
  for (unsigned i = 0; i < n; ++i) {
    const int* tile = &x[i / 16 * 16];
    for (unsigned k = 0; k < 16; ++k) expected[i] |= (tile[k] > 0 ? 1u : 0u) << k;
    expected[i] += std::any_of(tile, tile + 16, [](int v) { return v > 95; }) ? 0x10000u : 0u;
    expected[i] += std::all_of(tile, tile + 16, [](int v) { return v > -95; }) ? 0x20000u : 0u;
    expected[i] += static_cast<std::uint32_t>(tile[i % 16 ^ 3] & 0xff) << 20;
  }
  trial t{s};
  auto& xs = t.array_of(x);
  auto& answers = t.zeros<std::uint32_t>(n);
  t.run([&](stream_ref on) { run(on, grid_1d(n, block), code.kernel("ask"), xs, answers); },
        [&] { expect_equal(answers.read(), expected); });
}

TEST_F(Groups, GroupsReduceScanAndPartition) {
  for (const unsigned block : {32u, 160u}) {
    const unsigned n = 2 * block;
    const std::vector<int> x = random_values<int>(n, -1000, 1000);
    std::vector<int> expected;
    for (unsigned i = 0; i < n; ++i) {
      const auto begin = x.begin() + i / 32 * 32;
      const auto end = begin + 32;
      int greatest = x[i];
      int part = 0;
      int rank = 0;
      for (auto other = begin; other != end; ++other) {
        if ((*other & 3) == (x[i] & 3)) greatest = std::max(greatest, *other);
        if ((*other > 0) != (x[i] > 0)) continue;
        ++part;
        rank += other < x.begin() + i ? 1 : 0;
      }
      expected.insert(expected.end(),
                      {std::accumulate(begin, end, 0), std::accumulate(begin, x.begin() + i, 0),
                       greatest, part * 100 + rank});
    }
    trial t{s};
    auto& xs = t.array_of(x);
    auto& told = t.zeros<int>(4 * n);
    t.run([&](stream_ref on) { run(on, grid_1d(n, block), code.kernel("gather"), xs, told); },
          [&] { expect_equal(told.read(), expected); });
  }
}

TEST_F(Groups, TheGridSynchronizes) {
  const int n = 1001;
  const int steps = 6;
  const std::vector<double> start = random_integers<double>(n, -1000, 1000);
  std::vector<double> expected = start;
  for (int step = 0; step < steps; ++step) {
    std::vector<double> next(n);
    for (int i = 0; i < n; ++i) {
      next[i] = 0.25 * (i > 0 ? expected[i - 1] : 0) + 0.5 * expected[i] +
                0.25 * (i + 1 < n ? expected[i + 1] : 0);
    }
    expected = next;
  }
  for (const auto& [grid, block] : {std::pair{1u, 64u}, {4u, 100u}, {12u, 32u}}) {
    trial t{s};
    auto& a = t.array_of(start);
    auto& b = t.zeros<double>(n);
    const launch_config config{.grid = {grid}, .block = {block}, .cooperative = true};
    t.run([&](stream_ref on) { run(on, config, code.kernel("smooth"), a, b, n, steps); },
          [&] { expect_within(0, a.read(), expected); });  // two more bits at each step: exact
  }
}

TEST_F(Groups, TheGridNormalisesByItsSum) {
  const int n = 1500;
  const std::vector<int> x = random_values<int>(n, 1, 1000);
  const int total = std::accumulate(x.begin(), x.end(), 0);
  std::vector<int> expected;
  for (const int v : x) expected.push_back(static_cast<int>(1000LL * v / total));
  for (const auto& [grid, block] : {std::pair{3u, 32u}, {8u, 96u}}) {
    trial t{s};
    auto& xs = t.array_of(x);
    auto& parts = t.zeros<int>(grid);
    auto& shares = t.zeros<int>(n);
    const launch_config config{.grid = {grid}, .block = {block}, .cooperative = true};
    t.run([&](stream_ref on) { run(on, config, code.kernel("normalise"), xs, n, parts, shares); },
          [&] { expect_equal(shares.read(), expected); });
  }
}

}  // namespace
}  // namespace weir::test
