// SPDX-License-Identifier: Apache-2.0
// random_test.cpp - kernels that generate random numbers.
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

// PCG32, as its author published it.
class pcg {
 public:
  pcg(std::uint64_t seed, std::uint64_t sequence) : increment_{sequence << 1 | 1} {
    next();
    state_ += seed;
    next();
  }
  std::uint32_t next() {
    const std::uint64_t old = state_;
    state_ = old * 6364136223846793005ULL + increment_;
    return std::rotr(static_cast<std::uint32_t>((old >> 18 ^ old) >> 27),
                     static_cast<int>(old >> 59));
  }

 private:
  std::uint64_t state_ = 0;
  std::uint64_t increment_;
};

class Random : public kernel_fixture {
 protected:
  const module& code = kernel_module("random");
};

TEST_F(Random, PcgMatchesTheReference) {
  const int threads = 203;
  const int each = 11;
  std::vector<std::uint32_t> expected(threads * each);
  for (int i = 0; i < threads; ++i) {
    pcg own{42, static_cast<std::uint64_t>(i)};
    for (int k = 0; k < each; ++k) expected[k * threads + i] = own.next();
  }
  ASSERT_EQ((pcg{42, 54}.next()), 0xa15c02b7u);  // from its author's demonstration
  for (const unsigned block : {32u, 75u}) {
    trial t{s};
    auto& out = t.zeros<std::uint32_t>(expected.size());
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(threads, block), code.kernel("pcg"), 42ULL, out, threads, each);
        },
        [&] { expect_equal(out.read(), expected); });
  }
}

TEST_F(Random, PhiloxMatchesTheReference) {
  struct {
    std::uint32_t x, y;
  } constexpr key{0, 0};
  const std::uint32_t n = 505;
  std::vector<std::uint32_t> expected;
  for (std::uint32_t i = 0; i < n; ++i) {
    std::uint32_t c[4] = {i, 0, 0, 0};
    for (std::uint32_t round = 0; round < 10; ++round) {
      const std::uint64_t a = std::uint64_t{0xd2511f53} * c[0];
      const std::uint64_t b = std::uint64_t{0xcd9e8d57} * c[2];
      c[0] = static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ (round * 0x9e3779b9u);
      c[2] = static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ (round * 0xbb67ae85u);
      c[1] = static_cast<std::uint32_t>(b);
      c[3] = static_cast<std::uint32_t>(a);
    }
    expected.insert(expected.end(), c, c + 4);
  }
  ASSERT_EQ(expected[0], 0x6627e8d5u);  // from its authors' test vectors
  trial t{s};
  auto& out = t.zeros<std::uint32_t>(4 * n);
  t.run([&](stream_ref on) { run(on, grid_1d(n, 96), code.kernel("philox"), key, out, n); },
        [&] { expect_equal(out.read(), expected); });
}

TEST_F(Random, PointsInACircleAreCounted) {
  const int each = 40;
  for (const auto& [grid, block] : {std::pair{4u, 128u}, {3u, 32u}}) {
    std::uint64_t expected = 0;
    for (unsigned i = 0; i < grid * block; ++i) {
      pcg own{7, i};
      for (int k = 0; k < each; ++k) {
        const float x = static_cast<float>(own.next() >> 8) * 0x1p-24f;
        const float y = static_cast<float>(own.next() >> 8) * 0x1p-24f;
        const float xx = x * x;
        const float yy = y * y;
        expected += xx + yy < 1.0f ? 1 : 0;
      }
    }
    EXPECT_NEAR(static_cast<double>(expected) / (grid * block * each), 0.785, 0.05);
    trial t{s};
    auto& inside = t.zeros<std::uint64_t>(1);
    t.run(
        [&](stream_ref on) {
          run(on, {.grid = {grid}, .block = {block}}, code.kernel("throw_points"), 7ULL, each,
              inside);
        },
        [&] { expect_equal(inside.read(), {expected}); });
  }
}

TEST_F(Random, XorshiftContinuesFromItsState) {
  const int n = 257;
  const auto seeds = random_values<std::uint32_t>(n, 1, UINT32_MAX);
  std::vector<std::uint32_t> expected = seeds;
  for (auto& x : expected) {
    for (int launch = 0; launch < 3; ++launch) {
      x ^= x << 13;
      x ^= x >> 17;
      x ^= x << 5;
    }
  }
  trial t{s};
  auto& states = t.array_of(seeds);
  auto& out = t.zeros<std::uint32_t>(n);
  t.run(
      [&](stream_ref on) {
        for (int launch = 0; launch < 3; ++launch)
          run(on, grid_1d(n, 64), code.kernel("xorshift"), states, out, n);
      },
      [&] {
        expect_equal(out.read(), expected);
        expect_equal(states.read(), expected);
      });
}

TEST_F(Random, TheRadicalInverseReversesBits) {
  const unsigned n = 1025;
  std::vector<float> expected(n);
  for (unsigned i = 0; i < n; ++i) {
    for (int bit = 0; bit < 11; ++bit)
      expected[i] += (i >> bit & 1) != 0 ? std::ldexp(1.0f, -bit - 1) : 0.0f;
  }
  trial t{s};
  auto& out = t.zeros<float>(n);
  t.run([&](stream_ref on) { run(on, grid_1d(n, 160), code.kernel("radical_inverse"), out, n); },
        [&] { expect_equal(out.read(), expected); });
}

}  // namespace
}  // namespace weir::test
