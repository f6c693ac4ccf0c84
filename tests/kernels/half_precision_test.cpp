// SPDX-License-Identifier: Apache-2.0
// half_precision_test.cpp - kernels with 16-bit floating-point numbers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

using half = std::uint16_t;  // its bits

double value_of(half bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const double sign = bits >> 15 != 0 ? -1.0 : 1.0;
  if (exponent == 31) return fraction != 0 ? NAN : sign * INFINITY;
  return sign *
         (exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25));
}

// Returns the nearest half; of two equally near ones the even one.
half nearest_half(double v) {
  const half sign = std::signbit(v) ? 0x8000 : 0;
  v = std::fabs(v);
  if (std::isnan(v)) return 0x7fff;
  if (v >= 65520.0) return sign | 0x7c00;
  const int exponent = std::max(v == 0 ? -14 : std::ilogb(v), -14);
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(v, 10 - exponent)));
  return static_cast<half>(sign |
                           (((exponent + 14) << 10) + steps));  // a carry goes to the exponent
}

half nearest_bfloat(float v) {
  const auto bits = std::bit_cast<std::uint32_t>(v);
  return static_cast<half>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

std::vector<half> random_halves(int n, float low, float high, unsigned seed) {
  std::vector<half> values;
  for (const float v : random_values<float>(n, low, high, seed)) values.push_back(nearest_half(v));
  return values;
}

class HalfPrecision : public kernel_fixture {
 protected:
  const module& code = kernel_module("half_precision");
};

TEST_F(HalfPrecision, HalfValuesConvertInBothDirections) {
  std::vector<half> all;
  std::vector<float> values;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    if ((bits & 0x7fff) > 0x7c00) continue;  // NaN
    all.push_back(static_cast<half>(bits));
    values.push_back(static_cast<float>(value_of(all.back())));
  }
  std::vector<float> between = random_values<float>(2000, -70000.0f, 70000.0f);
  for (float v : random_values<float>(2000, -1.0f, 1.0f, 2)) between.push_back(std::ldexp(v, -13));
  for (const float v : {65519.99f, 65520.0f, 0x1p-25f, 0x1.000002p-25f, 1e-10f, -0.0f, INFINITY})
    between.push_back(v);
  std::vector<half> rounded;
  for (const float v : between) rounded.push_back(nearest_half(v));
  const int n = static_cast<int>(all.size());
  const int m = static_cast<int>(between.size());
  trial t{s};
  auto& halves = t.array_of(all);
  auto& floats = t.zeros<float>(n);
  auto& in = t.array_of(between);
  auto& out = t.zeros<half>(m);
  t.run(
      [&](stream_ref on) {
        run(on, grid_1d(n, 256), code.kernel("from_half"), halves, floats, n);
        run(on, grid_1d(m, 96), code.kernel("to_half"), in, out, m);
      },
      [&] {
        expect_equal(floats.read(), values);
        expect_equal(out.read(), rounded);
      });
}

TEST_F(HalfPrecision, EachHalfResultIsRoundedOnce) {
  const int n = 1501;
  const auto a = random_halves(n, -100.0f, 100.0f, 1);
  const auto b = random_halves(n, -100.0f, 100.0f, 2);
  std::vector<half> expected(8 * n);
  for (int i = 0; i < n; ++i) {
    const double u = value_of(a[i]);
    const double v = value_of(b[i]);
    expected[i] = nearest_half(u + v);
    expected[n + i] = nearest_half(u - v);
    expected[2 * n + i] = nearest_half(u * v);
    expected[3 * n + i] = nearest_half(u + 2 * v);
    expected[4 * n + i] = a[i] ^ 0x8000;
    expected[5 * n + i] = b[i] & 0x7fff;
    expected[6 * n + i] = b[i];
    expected[7 * n + i] = nearest_half(std::floor(u));
  }
  trial t{s};
  auto& as = t.array_of(a);
  auto& bs = t.array_of(b);
  auto& y = t.zeros<half>(8 * n);
  t.run([&](stream_ref on) { run(on, grid_1d(n, 128), code.kernel("arithmetic"), as, bs, y, n); },
        [&] { expect_equal(y.read(), expected); });
}

TEST_F(HalfPrecision, PackedHalvesAreComputedInPairs) {
  const int pairs = 777;
  const auto x = random_halves(2 * pairs, 0.0f, 10.0f, 1);
  const auto y = random_halves(2 * pairs, 0.0f, 10.0f, 2);
  const half factor = nearest_half(1.7);
  std::vector<half> expected;
  for (int i = 0; i < 2 * pairs; ++i)
    expected.push_back(nearest_half(value_of(factor) * value_of(x[i]) + value_of(y[i])));
  trial t{s};
  auto& xs = t.array_of(x);
  auto& ys = t.array_of(y);
  t.run(
      [&](stream_ref on) {
        run(on, grid_1d(pairs, 64), code.kernel("axpy_pairs"), factor, xs, ys, pairs);
      },
      [&] {
        // Allows one ulp, because a device without the instruction rounds the sum to single
        // precision first.
        const std::vector<half> actual = ys.read();
        for (int i = 0; i < 2 * pairs; ++i) ASSERT_LE(std::abs(actual[i] - expected[i]), 1) << i;
      });
}

TEST_F(HalfPrecision, HalfProductsAreSummedInSinglePrecision) {
  const int pairs = 1001;
  std::vector<half> a, b;
  for (const int v : random_values<int>(2 * pairs, -50, 50, 1)) a.push_back(nearest_half(v));
  for (const int v : random_values<int>(2 * pairs, -50, 50, 2)) b.push_back(nearest_half(v));
  double expected = 0;
  for (int i = 0; i < 2 * pairs; ++i) expected += value_of(a[i]) * value_of(b[i]);
  for (const unsigned block : {32u, 160u}) {
    trial t{s};
    auto& as = t.array_of(a);
    auto& bs = t.array_of(b);
    auto& sum = t.zeros<float>(1);
    t.run(
        [&](stream_ref on) { run(on, {.block = {block}}, code.kernel("dot"), as, bs, sum, pairs); },
        [&] {
          expect_within(0, sum.read(), {static_cast<float>(expected)});
        });  // integers below 2^24
  }
}

TEST_F(HalfPrecision, Bfloat16ValuesAreRoundedToNearest) {
  const int n = 1203;
  const std::vector<float> x = random_values<float>(n, -1e5f, 1e5f);
  std::vector<half> rounded, scaled;
  std::vector<float> back;
  for (const float v : x) {
    rounded.push_back(nearest_bfloat(v));
    back.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(rounded.back()) << 16));
    scaled.push_back(nearest_bfloat(back.back() * 3.0f));  // exact before it is rounded
  }
  trial t{s};
  auto& xs = t.array_of(x);
  auto& r = t.zeros<half>(n);
  auto& b = t.zeros<float>(n);
  auto& f = t.zeros<half>(n);
  t.run([&](stream_ref on) { run(on, grid_1d(n, 96), code.kernel("bfloat"), xs, r, b, f, n); },
        [&] {
          expect_equal(r.read(), rounded);
          expect_equal(b.read(), back);
          expect_equal(f.read(), scaled);
        });
}

TEST_F(HalfPrecision, SoftmaxIsComputedInHalfPrecision) {
  const unsigned rows = 13;
  const int columns = 77;
  const auto in = random_halves(static_cast<int>(rows) * columns, -4.0f, 4.0f, 1);
  std::vector<half> expected;
  for (unsigned row = 0; row < rows; ++row) {
    double sum = 0;
    for (int i = 0; i < columns; ++i) sum += std::exp(value_of(in[row * columns + i]));
    for (int i = 0; i < columns; ++i)
      expected.push_back(nearest_half(std::exp(value_of(in[row * columns + i])) / sum));
  }
  for (const unsigned block : {32u, 100u}) {
    trial t{s};
    auto& from = t.array_of(in);
    auto& to = t.zeros<half>(in.size());
    t.run(
        [&](stream_ref on) {
          run(on, {.grid = {rows}, .block = {block}}, code.kernel("softmax"), from, to, columns);
        },
        [&] {
          // Single precision has 13 more bits, so only the last rounding may differ.
          const std::vector<half> actual = to.read();
          for (std::size_t i = 0; i < actual.size(); ++i)
            ASSERT_LE(std::abs(actual[i] - expected[i]), 1) << i;
        });
  }
}

}  // namespace
}  // namespace weir::test
