// SPDX-License-Identifier: Apache-2.0
// atomics_test.cpp - kernels whose threads write to shared locations.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

class Atomics : public kernel_fixture {
 protected:
  const module& code = kernel_module("atomics");
};

TEST_F(Atomics, EveryAtomicOperationIsAtomic) {
  const int n = 3001;
  const auto x = random_values<std::uint32_t>(n, 0, UINT32_MAX);
  const std::vector<std::uint32_t> start = {0, 0, ~0u, 0, 0x7fffffffu, 0x80000000u, ~0u, 0, 0,
                                            0, 0, 0,   0};
  std::vector<std::uint32_t> cells = start;
  std::vector<std::uint64_t> wide = {0, 0, 0, ~0ULL, 0};
  const std::vector<std::uint64_t> wide_start = wide;
  float real = 0;
  double sum = 0;
  for (const std::uint32_t v : x) {
    cells[0] += v;
    cells[1] -= v;
    cells[2] = std::min(cells[2], v);
    cells[3] = std::max(cells[3], v);
    cells[4] =
        static_cast<std::uint32_t>(std::min(static_cast<int>(cells[4]), static_cast<int>(v)));
    cells[5] =
        static_cast<std::uint32_t>(std::max(static_cast<int>(cells[5]), static_cast<int>(v)));
    cells[6] &= v | 0xff;
    cells[7] |= v & 0x00ffff00;
    cells[8] ^= v;
    wide[0] += std::uint64_t{v} << 20;
    wide[1] = std::max(wide[1], std::uint64_t{v} * v);
    wide[2] ^= std::uint64_t{v} << 32 | v;
    wide[3] &= ~(std::uint64_t{1} << v % 64);
    real += static_cast<float>(v & 15);
    sum += v;
  }
  cells[9] = n % 100;                 // up from 0 to 99, then 0 again
  cells[10] = (100 - n % 100) % 100;  // and down
  cells[11] = 77;
  cells[12] = static_cast<std::uint32_t>(-n);
  wide[4] = std::bit_cast<std::uint64_t>(sum);  // integers below 2^53
  for (const unsigned block : {32u, 100u, 512u}) {
    trial t{s};
    auto& xs = t.array_of(x);
    auto& c = t.array_of(start);
    auto& w = t.array_of(wide_start);
    auto& r = t.zeros<float>(1);
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(n, block), code.kernel("every_one"), xs, n, c, w, r);
        },
        [&] {
          expect_equal(c.read(), cells);
          expect_equal(w.read(), wide);
          expect_equal(r.read(), {real});
        });
  }
}

TEST_F(Atomics, CompareAndSwapImplementsOtherAtomics) {
  const int n = 2503;
  const std::vector<float> x = random_values<float>(n, 0.0f, 1000.0f);
  std::vector<std::uint16_t> expected(4);
  for (int i = 0; i < n; ++i) ++expected[i & 3];
  for (const unsigned block : {64u, 250u}) {
    trial t{s};
    auto& xs = t.array_of(x);
    auto& greatest = t.zeros<float>(1);
    auto& product = t.array_of(std::vector<double>{3.0});
    auto& halves = t.zeros<std::uint16_t>(4);
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(n, block), code.kernel("by_swaps"), xs, n, greatest, product, halves);
        },
        [&] {
          expect_equal(greatest.read(), {std::ranges::max(x)});
          expect_equal(product.read(), {std::ldexp(3.0, 26)});
          expect_equal(halves.read(), expected);
        });
  }
}

TEST_F(Atomics, ThreadsBuildLockFreeLists) {
  const int n = 2001;
  const int lists = 17;
  const std::vector<int> values = random_values<int>(n, 0, 100000);
  std::vector<std::vector<int>> expected(lists);
  for (const int v : values) expected[v % lists].push_back(v);
  for (auto& list : expected) std::ranges::sort(list);
  for (const unsigned block : {32u, 333u}) {
    trial t{s};
    auto& v = t.array_of(values);
    auto& nodes = t.zeros<int>(2 * n);
    auto& heads = t.array_of(std::vector<int>(lists, -1));
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(n, block), code.kernel("push"), v, nodes, heads, lists, n);
        },
        [&] {
          const std::vector<int> node = nodes.read();
          const std::vector<int> head = heads.read();
          for (int list = 0; list < lists; ++list) {
            std::vector<int> found;
            for (int at = head[list]; at >= 0 && found.size() <= static_cast<std::size_t>(n);
                 at = node[2 * at + 1]) {
              found.push_back(node[2 * at]);
            }
            std::ranges::sort(found);
            expect_equal(found, expected[list]);
          }
        });
  }
}

TEST_F(Atomics, AWorkQueueRunsTheWorkThatItsWorkAdds) {
  struct queue {
    std::uint32_t taken, given;
    int open;
  };
  const int leaves = 701;
  const int capacity = 2 * leaves;
  for (const auto& [grid, block] : {std::pair{1u, 1u}, {3u, 2u}, {8u, 32u}}) {
    trial t{s};
    auto& q = t.array_of(std::vector<queue>{{0, 1, 1}});
    std::vector<int> first(capacity);
    first[0] = leaves;
    auto& items = t.array_of(first);
    auto& count = t.zeros<int>(1);
    t.run(
        [&](stream_ref on) {
          run(on, {.grid = {grid}, .block = {block}}, code.kernel("work"), q, items, capacity,
              count);
        },
        [&] { expect_equal(count.read(), {leaves}); });
  }
}

TEST_F(Atomics, ALockExcludesOtherThreads) {
  struct record {
    long long count, sum, greatest;
    bool operator==(const record&) const = default;
  };
  const int n = 4003;
  const std::vector<int> x = random_values<int>(n, -1000000, 1000000);
  const record expected{n, std::accumulate(x.begin(), x.end(), 0LL), std::ranges::max(x)};
  for (const unsigned block : {32u, 100u}) {
    trial t{s};
    auto& xs = t.array_of(x);
    auto& all = t.array_of(std::vector<record>{{0, 0, -(1LL << 40)}});
    t.run([&](stream_ref on) { run(on, grid_1d(n, block), code.kernel("guarded"), xs, n, all); },
          [&] { expect_equal(all.read(), {expected}); });
  }
}

TEST_F(Atomics, ThreadsInsertIntoAHashTable) {
  const int n = 2000;
  const std::uint32_t size = 701;
  const auto keys = random_values<std::uint32_t>(n, 0, 400);
  std::map<std::uint32_t, std::uint32_t> expected;
  for (const std::uint32_t key : keys) ++expected[key];
  trial t{s};
  auto& k = t.array_of(keys);
  auto& slots = t.array_of(std::vector<std::uint32_t>(size, ~0u));
  auto& counts = t.zeros<std::uint32_t>(size);
  t.run(
      [&](stream_ref on) {
        run(on, grid_1d(n, 160), code.kernel("insert"), k, n, slots, counts, size);
      },
      [&] {
        const auto slot = slots.read();
        const auto count = counts.read();
        std::map<std::uint32_t, std::uint32_t> found;
        for (std::uint32_t i = 0; i < size; ++i) {
          if (slot[i] != ~0u) found[slot[i]] += count[i];
        }
        EXPECT_EQ(found, expected);
      });
}

TEST_F(Atomics, LibraryAtomicsAreAtomic) {
  const int n = 1503;
  const auto x = random_values<std::uint32_t>(n, 0, UINT32_MAX);
  const std::uint32_t greatest = std::ranges::max(x);
  std::uint32_t sum = 0;
  for (const std::uint32_t v : x) sum += v;
  for (const unsigned block : {32u, 90u}) {
    trial t{s};
    auto& xs = t.array_of(x);
    auto& cells = t.zeros<std::uint32_t>(3);
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(n, block), code.kernel("of_the_library"), xs, n, cells);
        },
        [&] {
          expect_equal(cells.read(), {sum, greatest, static_cast<std::uint32_t>(n)});
        });
  }
}

}  // namespace
}  // namespace weir::test
