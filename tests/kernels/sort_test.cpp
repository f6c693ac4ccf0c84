// SPDX-License-Identifier: Apache-2.0
// sort_test.cpp - kernels that sort.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

class Sort : public kernel_fixture {
 protected:
  template <class T>
  void sorts_blocks(const kernel& sort, const std::vector<T>& in, unsigned n) {
    std::vector<T> expected = in;
    const auto blocks = static_cast<unsigned>(in.size() / n);
    for (unsigned b = 0; b < blocks; ++b)
      std::sort(expected.begin() + b * n, expected.begin() + (b + 1) * n);
    const unsigned size = std::bit_ceil(n);
    for (const unsigned block : {32u, 100u, 256u}) {
      trial t{s};
      auto& values = t.array_of(in);
      const launch_config config{.grid = {blocks},
                                 .block = {block},
                                 .shared_bytes = static_cast<unsigned>(size * sizeof(T))};
      t.run([&](stream_ref on) { run(on, config, sort, values, n, size); },
            [&] { expect_equal(values.read(), expected); });
    }
  }

  const module& code = kernel_module("sort");
};

TEST_F(Sort, BlocksOfAnyTypeAreSorted) {
  sorts_blocks(code.kernel("sort_block<int>"), random_values<int>(3 * 200, INT32_MIN, INT32_MAX),
               200);
  sorts_blocks(code.kernel("sort_block<double>"), random_values<double>(512, -1.0, 1.0), 512);
  sorts_blocks(code.kernel("sort_block<unsigned char>"),
               random_values<std::uint8_t>(5 * 77, 0, 255), 77);
}

// The block needs more shared memory than the default limit.
TEST_F(Sort, ALargeBlockIsSorted) {
  const kernel sort = code.kernel("sort_block<int>");
  sort.set_max_dynamic_shared(64 * 1024);
  const unsigned n = 12007;
  const std::vector<int> in = random_values<int>(n, INT32_MIN, INT32_MAX);
  std::vector<int> expected = in;
  std::ranges::sort(expected);
  trial t{s};
  auto& values = t.array_of(in);
  const launch_config config{.block = {512}, .shared_bytes = 64 * 1024};
  t.run([&](stream_ref on) { run(on, config, sort, values, n, 16384u); },
        [&] { expect_equal(values.read(), expected); });
}

TEST_F(Sort, OddEvenTranspositionSorts) {
  const kernel swap = code.kernel("swap_pairs");
  const int n = 101;
  const std::vector<int> in = random_values<int>(n, -50, 50);
  std::vector<int> expected = in;
  std::ranges::sort(expected);
  trial t{s};
  auto& values = t.array_of(in);
  t.run(
      [&](stream_ref on) {
        for (int round = 0; round < n; ++round)
          run(on, grid_1d(n / 2, 32), swap, values, n, round & 1);
      },
      [&] { expect_equal(values.read(), expected); });
}

TEST_F(Sort, KeysAreSortedWithTheirValues) {
  const kernel sort = code.kernel("sort_by_rank");
  const int n = 1009;
  const auto keys = random_values<std::uint16_t>(n, 0, 99);
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::vector<std::uint32_t> expected = order;
  std::ranges::stable_sort(expected, {}, [&](std::uint32_t i) { return keys[i]; });
  std::vector<std::uint16_t> sorted = keys;
  std::ranges::sort(sorted);
  for (const unsigned block : {32u, 90u, 128u}) {
    trial t{s};
    auto& k = t.array_of(keys);
    auto& v = t.array_of(order);
    auto& ks = t.zeros<std::uint16_t>(n);
    auto& vs = t.zeros<std::uint32_t>(n);
    t.run([&](stream_ref on) { run(on, grid_1d(n, block), sort, k, v, ks, vs, n); },
          [&] {
            expect_equal(ks.read(), sorted);
            expect_equal(vs.read(), expected);
          });
  }
}

TEST_F(Sort, RadixSortSortsBitByBit) {
  const kernel sort = code.kernel("sort_by_bits");
  for (const auto& [n, block] : {std::pair{1u, 32u}, {95u, 96u}, {500u, 512u}}) {
    const auto in = random_values<std::uint32_t>(n, 0, UINT32_MAX - 1);
    std::vector<std::uint32_t> expected = in;
    std::ranges::sort(expected);
    trial t{s};
    auto& keys = t.array_of(in);
    t.run(
        [&](stream_ref on) {
          run(on, {.block = {block}, .shared_bytes = block * 4}, sort, keys, n);
        },
        [&] { expect_equal(keys.read(), expected); });
  }
}

}  // namespace
}  // namespace weir::test
