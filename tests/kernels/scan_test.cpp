// SPDX-License-Identifier: Apache-2.0
// scan_test.cpp - kernels that compute prefix sums.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

class Scan : public kernel_fixture {
 protected:
  const module& code = kernel_module("scan");
};

TEST_F(Scan, ThreeLaunchesScanAllElements) {
  const kernel scan = code.kernel("scan_each_block");
  const kernel add = code.kernel("add_totals");
  for (const unsigned block : {64u, 100u, 512u}) {
    const int n = 5555;
    const unsigned blocks = blocks_for(n, block);
    const std::vector<int> in = random_values<int>(n, -1000, 1000);
    std::vector<int> expected(n);
    std::partial_sum(in.begin(), in.end(), expected.begin());
    trial t{s};
    auto& numbers = t.array_of(in);
    auto& sums = t.zeros<int>(n);
    auto& totals = t.zeros<int>(blocks);
    t.run(
        [&](stream_ref on) {
          const unsigned rows = 2 * sizeof(int);
          run(on, grid_1d(n, block, rows * block), scan, numbers, sums, totals, n);
          run(on, grid_1d(blocks, 128, rows * 128), scan, totals, totals,
              static_cast<int*>(nullptr), static_cast<int>(blocks));
          run(on, grid_1d(n, block), add, sums, totals, n);
        },
        [&] { expect_equal(sums.read(), expected); });
  }
}

TEST_F(Scan, ATreeScansABlock) {
  const kernel scan = code.kernel("scan_tree");
  for (const unsigned block : {1u, 32u, 256u}) {
    const int n = 777;
    const auto in = random_values<std::uint32_t>(n, 0, UINT32_MAX);
    std::vector<std::uint32_t> expected(n);
    for (int i = 0; i < n; ++i) {
      expected[i] = i % (2 * block) == 0 ? 0 : expected[i - 1] + in[i - 1];
    }
    trial t{s};
    auto& numbers = t.array_of(in);
    auto& sums = t.zeros<std::uint32_t>(n);
    const launch_config config =
        grid_1d(blocks_for(n, 2), block, 2 * block * sizeof(std::uint32_t));
    t.run([&](stream_ref on) { run(on, config, scan, numbers, sums, n); },
          [&] { expect_equal(sums.read(), expected); });
  }
}

TEST_F(Scan, AWarpScansSegments) {
  const kernel scan = code.kernel("scan_segments");
  for (const unsigned block : {32u, 192u}) {
    const unsigned n = 5 * block;
    const auto in = random_values<long long>(n, -1'000'000'000'000, 1'000'000'000'000);
    auto heads = random_values<std::uint8_t>(n, 0, 9);
    for (auto& head : heads) head = head == 0;
    std::vector<long long> expected(n);
    for (unsigned i = 0; i < n; ++i)
      expected[i] = in[i] + (i % 32 == 0 || heads[i] != 0 ? 0 : expected[i - 1]);
    trial t{s};
    auto& numbers = t.array_of(in);
    auto& marks = t.array_of(heads);
    auto& sums = t.zeros<long long>(n);
    t.run([&](stream_ref on) { run(on, grid_1d(n, block), scan, numbers, marks, sums); },
          [&] { expect_equal(sums.read(), expected); });
  }
}

TEST_F(Scan, OneLaunchScansAllElements) {
  const kernel scan = code.kernel("scan_in_one_go");
  for (const unsigned block : {32u, 96u, 256u}) {
    const int n = 4001;
    const unsigned blocks = blocks_for(n, block);
    const std::vector<int> in = random_values<int>(n, -1000, 1000);
    std::vector<int> expected(n);
    std::partial_sum(in.begin(), in.end(), expected.begin());
    trial t{s};
    auto& numbers = t.array_of(in);
    auto& sums = t.zeros<int>(n);
    auto& totals = t.zeros<int>(blocks);
    auto& ready = t.zeros<int>(blocks);
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(n, block, 2 * block * sizeof(int)), scan, numbers, sums, totals, ready,
              n);
        },
        [&] { expect_equal(sums.read(), expected); });
  }
}

TEST_F(Scan, PositiveElementsAreCompacted) {
  const kernel keep = code.kernel("keep_positive");
  for (const unsigned block : {50u, 256u}) {
    const int n = 1003;
    const unsigned blocks = blocks_for(n, block);
    const std::vector<int> in = random_values<int>(n, -50, 50);
    std::vector<int> expected(blocks * block);
    std::vector<int> counts(blocks);
    for (int i = 0; i < n; ++i) {
      const unsigned b = i / block;
      if (in[i] > 0) expected[b * block + counts[b]++] = in[i];
    }
    trial t{s};
    auto& numbers = t.array_of(in);
    auto& kept = t.zeros<int>(blocks * block);
    auto& count = t.zeros<int>(blocks);
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(n, block, 2 * block * sizeof(int)), keep, numbers, kept, count, n);
        },
        [&] {
          expect_equal(kept.read(), expected);
          expect_equal(count.read(), counts);
        });
  }
}

}  // namespace
}  // namespace weir::test
