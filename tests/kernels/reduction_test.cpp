// SPDX-License-Identifier: Apache-2.0
// reduction_test.cpp - kernels that reduce an array to one number.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

class Reduction : public kernel_fixture {
 protected:
  const module& code = kernel_module("reduction");
};

TEST_F(Reduction, ATreeInSharedMemorySums) {
  const kernel sum_tree = code.kernel("sum_tree");
  for (const unsigned block : {1u, 64u, 100u, 512u}) {
    for (const int n : {1, 1000, 5003}) {
      const std::vector<int> in = random_values<int>(n, -100000, 100000);
      const int expected = std::accumulate(in.begin(), in.end(), 0);
      trial t{s};
      auto& numbers = t.array_of(in);
      // Each launch sums the block results of the previous one, until one is left.
      std::vector<array<int>*> levels{&numbers};
      std::vector<int> sizes{n};
      do {
        sizes.push_back(static_cast<int>(blocks_for(sizes.back(), std::max(block, 2u))));
        levels.push_back(&t.zeros<int>(std::max(sizes.back(), 1)));
      } while (sizes.back() > 1);
      const unsigned threads = std::max(block, 2u);
      t.run(
          [&](stream_ref on) {
            for (std::size_t level = 0; level + 1 < levels.size(); ++level) {
              run(on, grid_1d(sizes[level], threads, threads * sizeof(int)), sum_tree,
                  *levels[level], *levels[level + 1], sizes[level]);
            }
          },
          [&] { expect_equal(levels.back()->read(), {expected}); });
    }
  }
}

TEST_F(Reduction, ShufflesComputeADotProduct) {
  const kernel dot = code.kernel("dot_by_shuffles");
  const int n = 9001;
  const std::vector<double> a = random_integers<double>(n, -1000, 1000, 1);
  const std::vector<double> b = random_integers<double>(n, -1000, 1000, 2);
  const double expected = std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  for (const auto& [grid, block] : {std::pair{1u, 32u}, {5u, 224u}, {40u, 256u}}) {
    trial t{s};
    auto& as = t.array_of(a);
    auto& bs = t.array_of(b);
    auto& total = t.zeros<double>(1);
    t.run(
        [&](stream_ref on) { run(on, {.grid = {grid}, .block = {block}}, dot, as, bs, total, n); },
        [&] { expect_equal(total.read(), {expected}); });  // integers: the order does not matter
  }
}

TEST_F(Reduction, TheLeastElementIsFound) {
  struct place {
    float value;
    int index;
    bool operator==(const place&) const = default;
  };
  const kernel least = code.kernel("least");
  for (const int n : {1, 31, 4097}) {
    // the minimum occurs more than once
    const std::vector<float> in = random_integers<float>(n, -300, 300);
    const int index = static_cast<int>(std::ranges::min_element(in) - in.begin());
    for (const unsigned block : {1u, 48u, 1024u}) {
      trial t{s};
      auto& numbers = t.array_of(in);
      auto& result = t.zeros<place>(1);
      t.run([&](stream_ref on) { run(on, {.block = {block}}, least, numbers, result, n); },
            [&] {
              expect_equal(result.read(), {place{in[index], index}});
            });
    }
  }
}

TEST_F(Reduction, TheLastBlockAddsUp) {
  const kernel sum = code.kernel("sum_by_last_block");
  for (const unsigned block : {32u, 80u, 256u}) {
    const int n = 4999;
    const auto in = random_values<std::uint32_t>(n, 0, UINT32_MAX);
    const std::uint64_t expected = std::accumulate(in.begin(), in.end(), std::uint64_t{0});
    trial t{s};
    auto& numbers = t.array_of(in);
    auto& parts = t.zeros<unsigned long long>(blocks_for(n, block));
    auto& total = t.zeros<unsigned long long>(1);
    t.run([&](stream_ref on) { run(on, grid_1d(n, block), sum, numbers, parts, total, n); },
          [&] { expect_equal(total.read(), {expected}); });
  }
}

TEST_F(Reduction, BarriersCountPredicates) {
  const kernel count_below = code.kernel("count_below");
  const int n = 1999;
  std::vector<short> in = random_values<short>(n, -20, 20);
  std::fill(in.begin() + 500, in.begin() + 1000, short{-20});
  std::fill(in.begin() + 1000, in.begin() + 1500, short{20});
  for (const unsigned block : {33u, 128u, 250u}) {
    const unsigned blocks = blocks_for(n, block);
    std::vector<int> counts(blocks), all(blocks), any(blocks);
    for (unsigned b = 0; b < blocks; ++b) {
      const auto begin = in.begin() + b * block;
      const auto end = in.begin() + std::min<std::size_t>(n, (b + 1) * block);
      counts[b] = static_cast<int>(std::count_if(begin, end, [](short v) { return v < 5; }));
      all[b] = counts[b] == end - begin;
      any[b] = counts[b] > 0;
    }
    trial t{s};
    auto& numbers = t.array_of(in);
    auto& c = t.zeros<int>(blocks);
    auto& every = t.zeros<int>(blocks);
    auto& some = t.zeros<int>(blocks);
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(n, block), count_below, numbers, short{5}, n, c, every, some);
        },
        [&] {
          expect_equal(c.read(), counts);
          expect_equal(every.read(), all);
          expect_equal(some.read(), any);
        });
  }
}

TEST_F(Reduction, AtomicsFindBounds) {
  const kernel widen = code.kernel("widen");
  const int n = 3001;
  auto in = random_values<long long>(n, INT64_MIN / 2, INT64_MAX / 2);
  in[n / 2] = INT64_MAX - 1;
  in[n - 1] = INT64_MIN + 1;
  const auto [low, high] = std::ranges::minmax(in);
  trial t{s};
  auto& numbers = t.array_of(in);
  auto& bounds = t.array_of(std::vector<long long>{INT64_MAX, INT64_MIN});
  t.run([&](stream_ref on) { run(on, grid_1d(n, 160), widen, numbers, n, bounds); },
        [&] {
          expect_equal(bounds.read(), {low, high});
        });
}

}  // namespace
}  // namespace weir::test
