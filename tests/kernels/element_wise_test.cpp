// SPDX-License-Identifier: Apache-2.0
// element_wise_test.cpp - kernels with one thread for each element.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

class ElementWise : public kernel_fixture {
 protected:
  const module& code = kernel_module("element_wise");
};

TEST_F(ElementWise, SaxpyScalesAndAdds) {
  const kernel saxpy = code.kernel("saxpy");
  for (const unsigned block : {1u, 96u, 256u, 1024u}) {
    for (const int n : {1, 255, 10007}) {
      if (block == 1 && n > 255) continue;
      const std::vector<float> x = random_values<float>(n, 0.0f, 1.0f, 1);
      const std::vector<float> y = random_values<float>(n, 0.0f, 1.0f, 2);
      std::vector<float> expected(n);
      for (int i = 0; i < n; ++i)
        expected[i] = static_cast<float>(2.5 * double{x[i]} + double{y[i]});
      trial t{s};
      auto& xs = t.array_of(x);
      auto& ys = t.array_of(y);
      // The product may be rounded before the addition or not. All values are nonnegative, so each
      // way is off by half an ulp of the sum.
      t.run([&](stream_ref on) { run(on, grid_1d(n, block), saxpy, n, 2.5f, xs, ys); },
            [&] { expect_within(1, ys.read(), expected); });
    }
  }
}

TEST_F(ElementWise, AGridStrideLoopClampsAllElements) {
  const kernel clamp_all = code.kernel("clamp_all");
  const std::size_t n = 5003;
  const std::vector<long long> values =
      random_values<long long>(n, -1'000'000'000'000, 1'000'000'000'000);
  std::vector<long long> expected = values;
  for (long long& value : expected) value = std::clamp(value, -5'000'000'000LL, 300'000'000'000LL);
  for (const launch_config& config :
       {launch_config{}, {.grid = {3}, .block = {33}}, {.grid = {64}, .block = {128}}}) {
    trial t{s};
    auto& a = t.array_of(values);
    t.run(
        [&](stream_ref on) {
          run(on, config, clamp_all, a, n, -5'000'000'000LL, 300'000'000'000LL);
        },
        [&] { expect_equal(a.read(), expected); });
  }
}

TEST_F(ElementWise, ComplexNumbersAreMultiplied) {
  const kernel multiply = code.kernel("multiply_complex");
  const int n = 1001;
  const std::vector<float> a = random_integers<float>(2 * n, -1000, 1000, 1);
  const std::vector<float> b = random_integers<float>(2 * n, -1000, 1000, 2);
  std::vector<float> expected(2 * n);
  for (int i = 0; i < n; ++i) {
    expected[2 * i] = a[2 * i] * b[2 * i] - a[2 * i + 1] * b[2 * i + 1];
    expected[2 * i + 1] = a[2 * i] * b[2 * i + 1] + a[2 * i + 1] * b[2 * i];
  }
  for (const unsigned block : {64u, 250u}) {
    trial t{s};
    auto& as = t.array_of(a);
    auto& bs = t.array_of(b);
    auto& c = t.zeros<float>(2 * n);
    t.run([&](stream_ref on) { run(on, grid_1d(n, block), multiply, as, bs, c, n); },
          [&] { expect_within(0, c.read(), expected); });  // every sum of products is below 2^24
  }
}

TEST_F(ElementWise, ColoursAreConvertedToGrey) {
  const kernel to_grey = code.kernel("to_grey");
  const int n = 4099;
  const auto pixels = random_values<std::uint8_t>(4 * n, 0, 255);
  std::vector<std::uint8_t> expected(n);
  for (int i = 0; i < n; ++i) {
    const std::uint8_t* p = &pixels[4 * i];
    expected[i] =
        static_cast<std::uint8_t>(((77 * p[0] + 150 * p[1] + 29 * p[2]) * p[3] / 255) >> 8);
  }
  trial t{s};
  auto& from = t.array_of(pixels);
  auto& to = t.zeros<std::uint8_t>(n);
  t.run([&](stream_ref on) { run(on, grid_1d(n, 192), to_grey, from, to, n); },
        [&] { expect_equal(to.read(), expected); });
}

TEST_F(ElementWise, HornersMethodEvaluatesAPolynomial) {
  const kernel horner = code.kernel("horner");
  const int n = 2049;
  const std::vector<double> x = random_values<double>(n, -2.0, 2.0);
  std::vector<double> expected(n);
  for (int i = 0; i < n; ++i) {
    double sum = 0.125;
    for (int k = 1; k <= 6; ++k) sum = std::fma(sum, x[i], 1.0 / k);
    expected[i] = sum;
  }
  trial t{s};
  auto& xs = t.array_of(x);
  auto& ys = t.zeros<double>(n);
  t.run([&](stream_ref on) { run(on, grid_1d(n, 128), horner, xs, ys, n); },
        [&] {
          expect_equal(ys.read(), expected);
        });  // the source calls fma explicitly: one rounding everywhere
}

TEST_F(ElementWise, AGatherReadsIndexedElements) {
  const kernel gather = code.kernel("gather");
  const int n = 3001;
  const std::vector<double> x = random_values<double>(777, -1.0, 1.0);
  const std::vector<int> from = random_values<int>(n, 0, 776);
  std::vector<double> expected(n);
  for (int i = 0; i < n; ++i) expected[i] = x[from[i]];
  trial t{s};
  auto& index = t.array_of(from);
  auto& xs = t.array_of(x);
  auto& ys = t.zeros<double>(n);
  t.run([&](stream_ref on) { run(on, grid_1d(n, 512), gather, index, xs, ys, n); },
        [&] { expect_equal(ys.read(), expected); });
}

TEST_F(ElementWise, VectorTypesAddFourElements) {
  const kernel add = code.kernel("add_four_wide");
  for (const unsigned n : {1u, 4u, 1022u, 4099u}) {
    const std::vector<float> a = random_values<float>(n, -1.0f, 1.0f, 1);
    const std::vector<float> b = random_values<float>(n, -1.0f, 1.0f, 2);
    std::vector<float> expected(n);
    for (unsigned i = 0; i < n; ++i) expected[i] = a[i] + b[i];
    trial t{s};
    auto& as = t.array_of(a);
    auto& bs = t.array_of(b);
    auto& c = t.zeros<float>(n);
    t.run([&](stream_ref on) { run(on, grid_1d(blocks_for(n, 4), 128), add, as, bs, c, n); },
          [&] { expect_equal(c.read(), expected); });  // one rounding
  }
}

}  // namespace
}  // namespace weir::test
