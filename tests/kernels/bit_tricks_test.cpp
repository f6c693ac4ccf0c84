// SPDX-License-Identifier: Apache-2.0
// bit_tricks_test.cpp - kernels on bits, bytes and words.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <functional>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

u32 reversed(u32 v) {
  u32 result = 0;
  for (int bit = 0; bit < 32; ++bit) result |= (v >> bit & 1) << (31 - bit);
  return result;
}

u64 joined(u32 low, u32 high) { return u64{high} << 32 | low; }

u32 low_24(u32 v) { return v & 0xffffff; }
int signed_24(u32 v) { return static_cast<int>(v << 8) >> 8; }

template <class Byte>
int dot(u32 a, u32 b) {
  int sum = 0;
  for (int k = 0; k < 4; ++k) sum += static_cast<Byte>(a >> 8 * k) * static_cast<Byte>(b >> 8 * k);
  return sum;
}

class BitTricks : public kernel_fixture {
 protected:
  const module& code = kernel_module("bit_tricks");
};

TEST_F(BitTricks, IntrinsicsOf32BitWordsComputeTheirResults) {
  const std::vector<std::function<u32(u32, u32)>> rows = {
      [](u32 a, u32) { return static_cast<u32>(std::popcount(a)); },
      [](u32 a, u32) { return static_cast<u32>(std::countl_zero(a)); },
      [](u32 a, u32) { return a == 0 ? 0u : static_cast<u32>(std::countr_zero(a)) + 1; },
      [](u32 a, u32) { return reversed(a); },
      [](u32 a, u32 b) {
        return (a & 0xff) | (b & 0xff) << 8 | (a >> 8 & 0xff) << 16 | (b >> 8 & 0xff) << 24;
      },
      [](u32 a, u32 b) { return static_cast<u32>(joined(a, b) << (b & 31) >> 32); },
      [](u32 a, u32 b) { return static_cast<u32>(joined(a, b) >> (b & 31)); },
      [](u32 a, u32) { return a; },
      [](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); },
      [](u32 a, u32 b) {
        return static_cast<u32>(std::int64_t{static_cast<int>(a)} * static_cast<int>(b) >> 32);
      },
      [](u32 a, u32 b) { return low_24(a) * low_24(b); },
      [](u32 a, u32 b) { return static_cast<u32>(std::int64_t{signed_24(a)} * signed_24(b)); },
      [](u32 a, u32 b) { return std::max(a, b) - std::min(a, b) + 7; },
      [](u32 a, u32 b) {
        return static_cast<u32>(std::abs(std::int64_t{static_cast<int>(a)} - static_cast<int>(b))) +
               7;
      },
      [](u32 a, u32 b) { return static_cast<u32>((u64{a} + b) / 2); },
      [](u32 a, u32 b) { return static_cast<u32>((u64{a} + b + 1) / 2); },
      [](u32 a, u32 b) { return static_cast<u32>(dot<std::uint8_t>(a, b)) + 5; },
      [](u32 a, u32 b) { return static_cast<u32>(dot<std::int8_t>(a, b) - 5); },
      [](u32 a, u32 b) { return a ^ b; },
      [](u32 a, u32) { return static_cast<int>(a) < 0 ? 0u - a : a; },
  };
  auto x = random_values<u32>(1001, 0, UINT32_MAX);
  x.insert(x.end(), {0u, 1u, UINT32_MAX, 0x80000000u, 0x7fffffffu, 31u, 32u});
  const int n = static_cast<int>(x.size());
  std::vector<u32> expected;
  for (const auto& row : rows) {
    for (int i = 0; i < n; ++i) expected.push_back(row(x[i], x[(i + 1) % n]));
  }
  trial t{s};
  auto& xs = t.array_of(x);
  auto& ys = t.zeros<u32>(expected.size());
  t.run([&](stream_ref on) { run(on, grid_1d(n, 128), code.kernel("of_words"), xs, ys, n); },
        [&] { expect_equal(ys.read(), expected); });
}

TEST_F(BitTricks, IntrinsicsOf64BitWordsComputeTheirResults) {
  auto x = random_values<u64>(500, 0, UINT64_MAX);
  x.insert(x.end(), {u64{0}, u64{1}, UINT64_MAX, u64{1} << 63, u64{1} << 40});
  const int n = static_cast<int>(x.size());
  std::vector<u64> expected(7 * x.size());
  for (int i = 0; i < n; ++i) {
    const u64 a = x[i];
    const u64 b = x[(i + 1) % n];
    __extension__ using u128 = unsigned __int128;
    __extension__ using i128 = __int128;
    expected[i] = std::popcount(a);
    expected[n + i] = std::countl_zero(a);
    expected[2 * n + i] = a == 0 ? 0 : std::countr_zero(a) + 1;
    expected[3 * n + i] =
        joined(reversed(static_cast<u32>(a >> 32)), reversed(static_cast<u32>(a)));
    expected[4 * n + i] = static_cast<u64>(u128{a} * b >> 64);
    expected[5 * n + i] =
        static_cast<u64>(i128{static_cast<std::int64_t>(a)} * static_cast<std::int64_t>(b) >> 64);
    expected[6 * n + i] =
        std::min(static_cast<u32>(a), static_cast<u32>(b)) + (std::max(a, b) - std::min(a, b));
  }
  trial t{s};
  auto& xs = t.array_of(x);
  auto& ys = t.zeros<u64>(expected.size());
  t.run([&](stream_ref on) { run(on, grid_1d(n, 96), code.kernel("of_double_words"), xs, ys, n); },
        [&] { expect_equal(ys.read(), expected); });
}

TEST_F(BitTricks, IntrinsicsOnBytesAndHalfWordsComputeTheirResults) {
  const auto by_bytes = [](u32 a, u32 b, const std::function<int(int, int)>& of) {
    u32 result = 0;
    for (int k = 0; k < 32; k += 8) {
      result |=
          (static_cast<u32>(of(static_cast<int>(a >> k & 0xff), static_cast<int>(b >> k & 0xff))) &
           0xff)
          << k;
    }
    return result;
  };
  const auto by_halves = [](u32 a, u32 b, const std::function<int(int, int)>& of) {
    u32 result = 0;
    for (int k = 0; k < 32; k += 16) {
      const int value = of(static_cast<std::int16_t>(a >> k), static_cast<std::int16_t>(b >> k));
      result |= (static_cast<u32>(value) & 0xffff) << k;
    }
    return result;
  };
  auto x = random_values<u32>(1000, 0, UINT32_MAX);
  x.insert(x.end(), {0u, UINT32_MAX, 0x80008000u, 0x7fff7fffu, 0x80807f7fu});
  const int n = static_cast<int>(x.size());
  std::vector<u32> expected(10 * x.size());
  for (int i = 0; i < n; ++i) {
    const u32 a = x[i];
    const u32 b = x[(i + 1) % n];
    expected[i] = by_bytes(a, b, [](int u, int v) { return u + v; });
    expected[n + i] = by_bytes(a, b, [](int u, int v) { return std::max(u - v, 0); });
    expected[2 * n + i] = by_bytes(a, b, [](int u, int v) { return std::max(u, v); });
    expected[3 * n + i] = by_bytes(a, b, [](int u, int v) { return (u + v + 1) / 2; });
    expected[4 * n + i] = by_bytes(a, b, [](int u, int v) { return std::abs(u - v); });
    expected[5 * n + i] = by_bytes(a, b, [](int u, int v) { return u > v ? 0xff : 0; });
    expected[6 * n + i] =
        by_halves(a, b, [](int u, int v) { return std::clamp(u + v, -32768, 32767); });
    expected[7 * n + i] = by_halves(a, b, [](int u, int v) { return std::min(u, v); });
    expected[8 * n + i] = by_halves(a, b, [](int u, int) { return -u; });
    u32 sum = 0;
    for (int k = 0; k < 32; k += 8) sum += expected[4 * n + i] >> k & 0xff;
    expected[9 * n + i] = sum;
  }
  trial t{s};
  auto& xs = t.array_of(x);
  auto& ys = t.zeros<u32>(expected.size());
  t.run([&](stream_ref on) { run(on, grid_1d(n, 96), code.kernel("in_parts"), xs, ys, n); },
        [&] { expect_equal(ys.read(), expected); });
}

TEST_F(BitTricks, MortonCodesInterleaveCoordinates) {
  const int n = 777;
  const auto points = random_values<std::uint16_t>(2 * n, 0, 65535);
  std::vector<u32> expected(n);
  for (int i = 0; i < n; ++i) {
    for (int bit = 0; bit < 16; ++bit) {
      expected[i] |= (u32{points[2 * i]} >> bit & 1) << (2 * bit) |
                     (u32{points[2 * i + 1]} >> bit & 1) << (2 * bit + 1);
    }
  }
  trial t{s};
  auto& p = t.array_of(points);
  auto& codes = t.zeros<u32>(n);
  t.run([&](stream_ref on) { run(on, grid_1d(n, 64), code.kernel("morton"), p, codes, n); },
        [&] { expect_equal(codes.read(), expected); });
}

TEST_F(BitTricks, AWarpTransposesASquareOfBits) {
  for (const unsigned block : {32u, 96u, 128u}) {
    const unsigned n = 3 * block;
    const auto rows = random_values<u32>(n, 0, UINT32_MAX);
    std::vector<u32> expected(n);
    for (unsigned i = 0; i < n; ++i) {
      for (unsigned bit = 0; bit < 32; ++bit)
        expected[i] |= (rows[i / 32 * 32 + bit] >> (i % 32) & 1) << bit;
    }
    trial t{s};
    auto& in = t.array_of(rows);
    auto& out = t.zeros<u32>(n);
    t.run([&](stream_ref on) { run(on, grid_1d(n, block), code.kernel("turn_bits"), in, out); },
          [&] { expect_equal(out.read(), expected); });
  }
}

TEST_F(BitTricks, TheNextWordHasAsManyBits) {
  const int n = 600;
  const auto x = random_values<u32>(n, 1, 1u << 20);
  std::vector<u32> next(n), gray(n);
  for (int i = 0; i < n; ++i) {
    next[i] = x[i] + 1;
    while (std::popcount(next[i]) != std::popcount(x[i])) ++next[i];
    gray[i] = x[i] ^ x[i] / 2;
  }
  trial t{s};
  auto& xs = t.array_of(x);
  auto& a = t.zeros<u32>(n);
  auto& b = t.zeros<u32>(n);
  auto& c = t.zeros<u32>(n);
  t.run(
      [&](stream_ref on) {
        run(on, grid_1d(n, 256), code.kernel("next_with_as_many"), xs, a, b, c, n);
      },
      [&] {
        expect_equal(a.read(), next);
        expect_equal(b.read(), gray);
        expect_equal(c.read(), x);
      });
}

// The kernel recurses, eight levels deep.
TEST_F(BitTricks, RecursionCountsTheQueens) {
  const int known[] = {0, 0, 0, 0, 2, 10, 4, 40, 92, 352, 724};
  for (const int n : {5, 8, 10}) {
    trial t{s};
    auto& ways = t.zeros<int>(1);
    t.run(
        [&](stream_ref on) {
          run(on, {.block = {16, 11}}, code.kernel("count_queens"), n, ways);
        },
        [&] { expect_equal(ways.read(), {known[n]}); });
  }
}

}  // namespace
}  // namespace weir::test
