// SPDX-License-Identifier: Apache-2.0
// merge_test.cpp - kernels over sorted arrays.
#include <algorithm>
#include <cstdint>
#include <iterator>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

class Merge : public kernel_fixture {
 protected:
  [[nodiscard]] static std::vector<int> sorted_randoms(int n, int high, unsigned seed) {
    std::vector<int> values = random_values<int>(n, 0, high, seed);
    std::ranges::sort(values);
    return values;
  }
  [[nodiscard]] static std::vector<int> unique_randoms(int n, int high, unsigned seed) {
    std::vector<int> values = sorted_randoms(n, high, seed);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  }

  const module& code = kernel_module("merge");
};

TEST_F(Merge, BinarySearchFindsLowerBounds) {
  const kernel find = code.kernel("find");
  const std::vector<int> sorted = sorted_randoms(1777, 5000, 1);
  const std::vector<int> wanted = random_values<int>(999, -10, 5010, 2);
  std::vector<int> expected;
  for (const int v : wanted)
    expected.push_back(static_cast<int>(std::ranges::lower_bound(sorted, v) - sorted.begin()));
  for (const unsigned block : {50u, 256u}) {
    trial t{s};
    auto& values = t.array_of(sorted);
    auto& keys = t.array_of(wanted);
    auto& places = t.zeros<int>(wanted.size());
    t.run(
        [&](stream_ref on) { run(on, grid_1d(999, block), find, values, 1777, keys, 999, places); },
        [&] { expect_equal(places.read(), expected); });
  }
}

TEST_F(Merge, MergePathMergesSortedArrays) {
  const kernel merge = code.kernel("merge");
  for (const auto& [na, nb] : {std::pair{1, 1}, {1000, 3}, {777, 1234}}) {
    const std::vector<int> a = sorted_randoms(na, 400, 1);
    const std::vector<int> b = sorted_randoms(nb, 400, 2);
    std::vector<int> expected;
    std::ranges::merge(a, b, std::back_inserter(expected));
    for (const int each : {1, 7, 32}) {
      trial t{s};
      auto& as = t.array_of(a);
      auto& bs = t.array_of(b);
      auto& out = t.zeros<int>(na + nb);
      const launch_config config = grid_1d(blocks_for(na + nb, each), 96);
      t.run([&](stream_ref on) { run(on, config, merge, as, na, bs, nb, out, each); },
            [&] { expect_equal(out.read(), expected); });
    }
  }
}

TEST_F(Merge, TheIntersectionIsCounted) {
  const kernel count_common = code.kernel("count_common");
  const std::vector<int> a = unique_randoms(2000, 4000, 1);
  const std::vector<int> b = unique_randoms(1500, 4000, 2);
  std::vector<int> both;
  std::ranges::set_intersection(a, b, std::back_inserter(both));
  for (const unsigned block : {64u, 333u}) {
    trial t{s};
    auto& as = t.array_of(a);
    auto& bs = t.array_of(b);
    auto& count = t.zeros<std::uint32_t>(1);
    const int na = static_cast<int>(a.size());
    const int nb = static_cast<int>(b.size());
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(a.size(), block), count_common, as, na, bs, nb, count);
        },
        [&] { expect_equal(count.read(), {static_cast<std::uint32_t>(both.size())}); });
  }
}

TEST_F(Merge, TheFirstOfEqualElementsIsMarked) {
  const kernel heads = code.kernel("heads");
  const int n = 1025;
  const std::vector<int> sorted = sorted_randoms(n, 200, 1);
  std::vector<std::uint8_t> expected(n);
  for (int i = 0; i < n; ++i) expected[i] = i == 0 || sorted[i] != sorted[i - 1];
  trial t{s};
  auto& values = t.array_of(sorted);
  auto& marks = t.zeros<std::uint8_t>(n);
  t.run([&](stream_ref on) { run(on, grid_1d(n, 128), heads, values, n, marks); },
        [&] { expect_equal(marks.read(), expected); });
}

}  // namespace
}  // namespace weir::test
