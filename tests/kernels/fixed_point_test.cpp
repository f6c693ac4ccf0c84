// SPDX-License-Identifier: Apache-2.0
// fixed_point_test.cpp - kernels with fixed-point and modular arithmetic.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

class FixedPoint : public kernel_fixture {
 protected:
  const module& code = kernel_module("fixed_point");
};

TEST_F(FixedPoint, FixedPointArithmeticSaturates) {
  const int n = 2003;
  const auto a = random_values<int>(n, -100 * 65536, 100 * 65536, 1);
  const auto b = random_values<int>(n, -500 * 65536, 500 * 65536, 2);
  const auto c = random_values<int>(n, INT32_MIN, INT32_MAX, 3);
  std::vector<int> expected;
  const auto held = [](double v) { return std::clamp(v, -0x1p31, 0x1p31 - 1); };
  for (int i = 0; i < n; ++i) {
    const double product = held(std::floor(double(a[i]) * b[i] / 65536 + 0.5));
    expected.push_back(static_cast<int>(held(product + c[i])));
  }
  for (const unsigned block : {96u, 500u}) {
    trial t{s};
    auto& as = t.array_of(a);
    auto& bs = t.array_of(b);
    auto& cs = t.array_of(c);
    auto& result = t.zeros<int>(n);
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(n, block), code.kernel("multiply_add"), as, bs, cs, result, n);
        },
        [&] { expect_equal(result.read(), expected); });
  }
}

TEST_F(FixedPoint, IntegerSquareRootsAreExact) {
  auto x = random_values<std::uint64_t>(1000, 0, UINT64_MAX);
  for (const std::uint64_t v :
       {0ULL, 1ULL, 2ULL, 4ULL, 0xfffffffe00000000ULL, 0xfffffffe00000001ULL})
    x.push_back(v);
  std::vector<std::uint32_t> expected;
  for (const std::uint64_t v : x) {
    auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<long double>(v)));
    while (root > 0xffffffff || root * root > v) --root;
    while (root < 0xffffffff && (root + 1) * (root + 1) <= v) ++root;
    expected.push_back(static_cast<std::uint32_t>(root));
  }
  const int n = static_cast<int>(x.size());
  trial t{s};
  auto& xs = t.array_of(x);
  auto& roots = t.zeros<std::uint32_t>(n);
  t.run([&](stream_ref on) { run(on, grid_1d(n, 128), code.kernel("square_roots"), xs, roots, n); },
        [&] { expect_equal(roots.read(), expected); });
}

TEST_F(FixedPoint, ModularPowersAreExact) {
  const int n = 503;
  const auto bases = random_values<std::uint32_t>(n, 0, UINT32_MAX, 1);
  const auto exponents = random_values<std::uint32_t>(n, 0, UINT32_MAX, 2);
  for (const std::uint32_t modulus : {3u, 1000003u, 4294967291u}) {
    std::vector<std::uint32_t> expected;
    for (int i = 0; i < n; ++i) {
      std::uint64_t result = 1;
      std::uint64_t base = bases[i] % modulus;
      for (std::uint32_t e = exponents[i]; e != 0; e >>= 1, base = base * base % modulus) {
        if ((e & 1) != 0) result = result * base % modulus;
      }
      expected.push_back(static_cast<std::uint32_t>(result));
    }
    trial t{s};
    auto& b = t.array_of(bases);
    auto& e = t.array_of(exponents);
    auto& results = t.zeros<std::uint32_t>(n);
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(n, 64), code.kernel("powers"), b, e, modulus, results, n);
        },
        [&] { expect_equal(results.read(), expected); });
  }
}

TEST_F(FixedPoint, NumbersOf256BitsAreAdded) {
  const int n = 301;
  auto a = random_values<std::uint32_t>(8 * n, 0, UINT32_MAX, 1);
  const auto b = random_values<std::uint32_t>(8 * n, 0, UINT32_MAX, 2);
  for (int k = 0; k < 8; ++k)
    a[8 * 5 + k] = ~b[8 * 5 + k] + (k == 0 ? 1 : 0);  // the carry propagates to the end
  std::vector<std::uint32_t> expected(8 * n);
  std::vector<std::uint8_t> carries(n);
  for (int i = 0; i < n; ++i) {
    bool carry = false;
    for (int k = 8 * i; k < 8 * i + 8; ++k) {
      expected[k] = a[k] + b[k] + (carry ? 1 : 0);
      carry = expected[k] < a[k] || (carry && expected[k] == a[k]);
    }
    carries[i] = carry ? 1 : 0;
  }
  trial t{s};
  auto& as = t.array_of(a);
  auto& bs = t.array_of(b);
  auto& sum = t.zeros<std::uint32_t>(8 * n);
  auto& carried = t.zeros<std::uint8_t>(n);
  t.run(
      [&](stream_ref on) {
        run(on, grid_1d(n, 50), code.kernel("add_wide"), as, bs, sum, carried, n);
      },
      [&] {
        expect_equal(sum.read(), expected);
        expect_equal(carried.read(), carries);
      });
}

TEST_F(FixedPoint, ASieveFindsPrimes) {
  const unsigned words = 201;
  std::vector<bool> composite(32 * words);
  std::vector<std::uint32_t> expected(words);
  for (unsigned n = 2; n < 32 * words; ++n) {
    if (composite[n]) continue;
    expected[n / 32] |= 1u << n % 32;
    for (unsigned m = 2 * n; m < 32 * words; m += n) composite[m] = true;
  }
  trial t{s};
  auto& bits = t.zeros<std::uint32_t>(words);
  t.run([&](stream_ref on) { run(on, grid_1d(words, 32), code.kernel("primes"), bits, words); },
        [&] { expect_equal(bits.read(), expected); });
}

}  // namespace
}  // namespace weir::test
