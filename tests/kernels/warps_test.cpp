// SPDX-License-Identifier: Apache-2.0
// warps_test.cpp - kernels whose lanes exchange data.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <span>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

using u32 = std::uint32_t;
using lanes = std::span<const int>;  // the values of a warp

class Warps : public kernel_fixture {
 protected:
  // Computes a row for each function: its value for each lane of each warp.
  [[nodiscard]] static std::vector<u32> rows_of(
      const std::vector<int>& x, const std::vector<std::function<u32(lanes, int)>>& functions) {
    std::vector<u32> rows;
    for (const auto& function : functions) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        rows.push_back(function(lanes{x}.subspan(i / 32 * 32, 32), static_cast<int>(i % 32)));
      }
    }
    return rows;
  }
  template <class Predicate>
  [[nodiscard]] static u32 ballot(lanes w, const Predicate& predicate) {
    u32 result = 0;
    for (int lane = 0; lane < 32; ++lane) result |= (predicate(w[lane]) ? 1u : 0u) << lane;
    return result;
  }
  template <class Operation>
  [[nodiscard]] static u32 reduced(lanes w, const Operation& operation) {
    u32 result = static_cast<u32>(w[0]);
    for (const int v : w.subspan(1)) result = operation(result, static_cast<u32>(v));
    return result;
  }

  void expect_rows(const char* name, const std::vector<int>& x, const std::vector<u32>& expected,
                   unsigned block) {
    const int n = static_cast<int>(x.size());
    trial t{s};
    auto& xs = t.array_of(x);
    auto& ys = t.zeros<u32>(expected.size());
    t.run([&](stream_ref on) { run(on, grid_1d(n, block), code.kernel(name), xs, ys, n); },
          [&] { expect_equal(ys.read(), expected); });
  }

  const module& code = kernel_module("warps");
};

TEST_F(Warps, WarpsShuffle) {
  for (const unsigned block : {32u, 96u, 256u}) {
    const std::vector<int> x = random_values<int>(3 * block, -100, 100);
    const std::vector<u32> expected = rows_of(
        x,
        {
            [](lanes w, int) { return static_cast<u32>(w[5]); },
            [](lanes w, int lane) { return static_cast<u32>(w[lane * 7 % 32]); },
            [](lanes w, int lane) { return static_cast<u32>(w[lane < 3 ? lane : lane - 3]); },
            [](lanes w, int lane) { return static_cast<u32>(w[lane % 8 < 6 ? lane + 2 : lane]); },
            [](lanes w, int lane) { return static_cast<u32>(w[lane ^ 9]); },
            [](lanes w, int lane) { return static_cast<u32>(w[lane ^ 1]); },
            [](lanes w, int lane) { return static_cast<u32>(w[lane < 16 ? lane + 16 : lane]); },
            [](lanes w, int lane) { return static_cast<u32>(w[lane / 16 * 16 + 15] + 1); },
            [](lanes w, int lane) { return static_cast<u32>(w[lane / 2 * 2]); },
        });
    expect_rows("shuffles", x, expected, block);
  }
}

TEST_F(Warps, WarpsVoteAndReduce) {
  for (const unsigned block : {32u, 160u}) {
    std::vector<int> x = random_values<int>(4 * block, -100, 100);
    std::fill(x.begin(), x.begin() + 32, 12);  // all lanes of one warp have equal values
    const auto is_same = [](lanes w) {
      return std::ranges::all_of(w, [&](int v) { return v >> 30 == w[0] >> 30; });
    };
    const std::vector<u32> expected = rows_of(
        x,
        {
            [](lanes w, int) { return ballot(w, [](int v) { return v > 0; }); },
            [](lanes w, int) { return ballot(w, [](int v) { return v > -90; }) == ~0u ? 1u : 0u; },
            [](lanes w, int) { return ballot(w, [](int v) { return v > 97; }) != 0 ? 1u : 0u; },
            [](lanes w, int lane) {
              return ballot(w, [&](int v) { return (v & 3) == (w[lane] & 3); });
            },
            [&](lanes w, int) { return is_same(w) ? ~0u : 0u; },
            [&](lanes w, int) { return is_same(w) ? 1u : 0u; },
            [](lanes w, int) { return reduced(w, std::plus<>{}); },
            [](lanes w, int) { return static_cast<u32>(std::ranges::min(w)); },
            [](lanes w, int) { return reduced(w, [](u32 a, u32 b) { return std::max(a, b); }); },
            [](lanes w, int) { return reduced(w, std::bit_xor<>{}); },
            [](lanes w, int) { return reduced(w, std::bit_or<>{}) & 0xf0f & 0x1ff; },
        });
    expect_rows("votes", x, expected, block);
  }
}

TEST_F(Warps, EachBranchHasItsOwnMask) {
  const std::vector<int> x = random_values<int>(10 * 32, -100, 100);
  const auto odd = [](lanes w) { return ballot(w, [](int v) { return (v & 1) != 0; }); };
  const std::vector<u32> expected =
      rows_of(x, {
                     [&](lanes w, int lane) {
                       return (w[lane] & 1) != 0 ? odd(w) & ballot(w, [](int v) { return v > 0; })
                                                 : ~odd(w) & ballot(w, [](int v) { return v < 0; });
                     },
                     [](lanes, int) { return 0u; },
                     [&](lanes w, int lane) {
                       if ((w[lane] & 1) != 0) return static_cast<u32>(w[std::countr_zero(odd(w))]);
                       u32 sum = 0;
                       for (const int v : w) sum += (v & 1) == 0 ? static_cast<u32>(v) : 0u;
                       return sum;
                     },
                 });
  for (const unsigned block : {32u, 64u}) expect_rows("branches", x, expected, block);
}

TEST_F(Warps, WarpsCompactElements) {
  const int n = 2003;
  const std::vector<int> x = random_values<int>(n, 0, 1000);
  std::vector<int> expected;
  std::ranges::copy_if(x, std::back_inserter(expected), [](int v) { return v % 3 == 0; });
  const int count = static_cast<int>(expected.size());
  for (const unsigned block : {32u, 192u}) {
    trial t{s};
    auto& xs = t.array_of(x);
    auto& kept = t.zeros<int>(n);
    auto& found = t.zeros<u32>(1);
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(n, block), code.kernel("compact"), xs, n, kept, found);
        },
        [&] {
          ASSERT_EQ(found.read()[0], static_cast<u32>(count));
          std::vector<int> in_some_order = kept.read();
          in_some_order.resize(count);
          std::vector<int> sorted = expected;
          std::ranges::sort(sorted);
          std::ranges::sort(in_some_order);
          expect_equal(in_some_order, sorted);
        });
  }
}

TEST_F(Warps, WarpsSortAndReverse) {
  for (const unsigned block : {32u, 128u, 1024u}) {
    const unsigned n = 2 * block;
    const std::vector<int> x = random_values<int>(n, INT32_MIN, INT32_MAX);
    const std::vector<short> shorts = random_values<short>(n, -30000, 30000);
    std::vector<int> sorted = x;
    std::vector<short> reversed = shorts;
    for (unsigned i = 0; i < n; i += 32) {
      std::sort(sorted.begin() + i, sorted.begin() + i + 32);
      std::reverse(reversed.begin() + i, reversed.begin() + i + 32);
    }
    trial t{s};
    auto& xs = t.array_of(x);
    auto& ss = t.array_of(shorts);
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(n, block), code.kernel("sort_warps"), xs);
          run(on, grid_1d(n, block), code.kernel("reverse_in_warps"), ss);
        },
        [&] {
          expect_equal(xs.read(), sorted);
          expect_equal(ss.read(), reversed);
        });
  }
}

}  // namespace
}  // namespace weir::test
