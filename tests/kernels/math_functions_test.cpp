// SPDX-License-Identifier: Apache-2.0
// math_functions_test.cpp - the device's <math.h> functions, within the error bounds that CUDA
// documents.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

template <class F, class Wide>
struct function_row {
  const char* name;
  // The bound of the CUDA C++ Programming Guide, or of glibc's manual if that is larger, plus one
  // for the reference's rounding.
  std::uint64_t ulps;
  Wide (*of)(Wide);
};

template <class F, class Wide>
void expect_rows(const std::vector<F>& x, const std::vector<F>& y,
                 const std::vector<function_row<F, Wide>>& rows) {
  ASSERT_EQ(y.size(), x.size() * rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    SCOPED_TRACE(rows[row].name);
    const auto begin = y.begin() + static_cast<std::ptrdiff_t>(row * x.size());
    std::vector<F> expected;
    for (const F v : x) expected.push_back(static_cast<F>(rows[row].of(v)));
    expect_within(rows[row].ulps,
                  std::vector<F>(begin, begin + static_cast<std::ptrdiff_t>(x.size())), expected);
  }
}

// Uses Newton's method.
double inverse_of_erf(double y) {
  double x = 0;
  for (int step = 0; step < 60; ++step)
    x -= (std::erf(x) - y) * std::sqrt(std::numbers::pi) / 2 * std::exp(x * x);
  return x;
}

class MathFunctions : public kernel_fixture {
 protected:
  const module& code = kernel_module("math_functions");
};

TEST_F(MathFunctions, SinglePrecisionFunctionsAreAccurate) {
  using d = double;
  const std::vector<function_row<float, double>> rows = {
      {"sinf", 3, [](d v) { return std::sin(v); }},
      {"cosf", 3, [](d v) { return std::cos(v); }},
      {"expf", 3, [](d v) { return std::exp(v); }},
      {"exp2f", 3, [](d v) { return std::exp2(v); }},
      {"exp10f", 3, [](d v) { return std::pow(10.0, v); }},
      {"expm1f", 2, [](d v) { return std::expm1(v); }},
      {"logf", 2, [](d v) { return std::log(v); }},
      {"log2f", 2, [](d v) { return std::log2(v); }},
      {"log10f", 3, [](d v) { return std::log10(v); }},
      {"log1pf", 2, [](d v) { return std::log1p(v); }},
      {"sqrtf", 0, [](d v) { return std::sqrt(v); }},
      {"rsqrtf", 3, [](d v) { return 1.0 / std::sqrt(v); }},
      {"cbrtf", 2, [](d v) { return std::cbrt(v); }},
      {"sinhf", 4, [](d v) { return std::sinh(v); }},
      {"coshf", 3, [](d v) { return std::cosh(v); }},
      {"tanhf", 3, [](d v) { return std::tanh(v); }},
      {"asinf", 3, [](d v) { return std::asin(v / 16); }},
      {"acosf", 3, [](d v) { return std::acos(v / 16); }},
      {"atanf", 3, [](d v) { return std::atan(v); }},
      {"atan2f", 4, [](d v) { return std::atan2(v, 3.0); }},
      {"hypotf", 4, [](d v) { return std::hypot(v, 2.0); }},
      {"powf", 5, [](d v) { return std::pow(v, 1.75); }},
      {"erff", 3, [](d v) { return std::erf(v); }},
      {"tgammaf", 6, [](d v) { return std::tgamma(v); }},
      // Subtracts the nearest multiple of the period first, which is exact.
      {"sinpif", 2, [](d v) { return std::sin(std::numbers::pi * std::remainder(v, 2.0)); }},
      {"sincosf, sine", 3, [](d v) { return std::sin(v); }},
      {"sincosf, cosine", 3, [](d v) { return std::cos(v); }},
  };
  const int n = 2003;
  const std::vector<float> x = random_values<float>(n, 0.05f, 8.0f);
  for (const unsigned block : {64u, 416u}) {
    trial t{s};
    auto& xs = t.array_of(x);
    auto& ys = t.zeros<float>(n * rows.size());
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(n, block), code.kernel("single_precision"), xs, ys, n);
        },
        [&] { expect_rows(x, ys.read(), rows); });
  }
}

TEST_F(MathFunctions, DoublePrecisionFunctionsAreAccurate) {
  using w = long double;
  const std::vector<function_row<double, long double>> rows = {
      {"sin", 3, [](w v) { return std::sin(v); }},
      {"cos", 3, [](w v) { return std::cos(v); }},
      {"exp", 2, [](w v) { return std::exp(v); }},
      {"log", 2, [](w v) { return std::log(v); }},
      {"log1p", 2, [](w v) { return std::log1p(v); }},
      {"sqrt", 0, [](w v) { return static_cast<w>(std::sqrt(static_cast<double>(v))); }},
      {"rsqrt", 2, [](w v) { return 1 / std::sqrt(v); }},
      {"cbrt", 5, [](w v) { return std::cbrt(v); }},
      {"tanh", 3, [](w v) { return std::tanh(v); }},
      {"atan2", 3, [](w v) { return std::atan2(v, w{3}); }},
      {"hypot", 3, [](w v) { return std::hypot(v, w{2}); }},
      {"pow", 3, [](w v) { return std::pow(v, w{1.75}); }},
      {"erf", 3, [](w v) { return std::erf(v); }},
  };
  const int n = 1001;
  const std::vector<double> x = random_values<double>(n, 0.05, 8.0);
  trial t{s};
  auto& xs = t.array_of(x);
  auto& ys = t.zeros<double>(n * rows.size());
  t.run([&](stream_ref on) { run(on, grid_1d(n, 96), code.kernel("double_precision"), xs, ys, n); },
        [&] { expect_rows(x, ys.read(), rows); });
}

TEST_F(MathFunctions, ExactFunctionsAreExact) {
  using f = float;
  const std::vector<std::function<f(f)>> rows = {
      [](f v) { return std::floor(v); },
      [](f v) { return std::ceil(v); },
      [](f v) { return std::trunc(v); },
      [](f v) { return std::rint(v); },
      [](f v) { return std::round(v); },
      [](f v) { return std::fabs(v); },
      [](f v) { return std::copysign(3.0f, v); },
      [](f v) { return std::fmin(v, 1.0f); },
      [](f v) { return std::fmax(v, 1.0f); },
      [](f v) { return std::fmod(v, 3.0f); },
      [](f v) { return std::fdim(v, 0.5f); },
      [](f v) { return std::fma(v, v, 1.0f); },
      [](f v) { return v + 0.1f; },
      [](f v) { return v * 0.1f; },
      [](f v) { return v / 3.0f; },
      [](f v) { return std::sqrt(std::fabs(v)); },
      [](f v) { return std::ldexp(v, 3); },
      [](f v) { return std::nextafter(v, 10.0f); },
      [](f v) { return std::isnan(v)   ? 1.0f
                       : std::isinf(v) ? 2.0f
                                       : 0.0f; },
      [](f v) { return std::signbit(v) ? 1.0f : 0.0f; },
      [](f v) { return std::isfinite(v) ? v - std::trunc(v) : 0.0f; },
  };
  std::vector<float> x = random_values<float>(997, -100.0f, 100.0f);
  for (const float v : {0.0f, -0.0f, 0.5f, -0.5f, 1.5f, 2.5f, -2.5f, 8388609.0f, 1e30f, 1e-40f,
                        -1e-40f, INFINITY, -INFINITY, NAN}) {
    x.push_back(v);
  }
  const int n = static_cast<int>(x.size());
  std::vector<float> expected;
  for (const auto& row : rows) std::ranges::transform(x, std::back_inserter(expected), row);
  trial t{s};
  auto& xs = t.array_of(x);
  auto& ys = t.zeros<float>(expected.size());
  // Compares by zero ulps instead of bitwise, because the kind of NaN is unspecified.
  t.run([&](stream_ref on) { run(on, grid_1d(n, 128), code.kernel("exact"), xs, ys, n); },
        [&] { expect_within(0, ys.read(), expected); });
}

TEST_F(MathFunctions, ConversionsRoundAsNamed) {
  std::vector<float> x = random_values<float>(500, -1e6f, 1e6f);
  for (const float v : {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 1e20f, -1e20f, 2147483648.0f, 0.0f})
    x.push_back(v);
  const int n = static_cast<int>(x.size());
  const auto whole = [](double v) {
    return static_cast<int>(std::clamp(v, -2147483648.0, 2147483647.0));
  };
  std::vector<std::vector<int>> rows(11);
  for (int i = 0; i < n; ++i) {
    const float v = x[i];
    const auto bits = std::bit_cast<std::uint32_t>(v);
    rows[0].push_back(whole(std::rint(v)));
    rows[1].push_back(whole(std::trunc(v)));
    rows[2].push_back(whole(std::ceil(v)));
    rows[3].push_back(whole(std::floor(v)));
    rows[4].push_back(static_cast<int>(static_cast<std::uint32_t>(
        std::min(std::rint(std::fabs(static_cast<double>(v))), 4294967295.0))));
    rows[5].push_back(static_cast<int>(bits));
    rows[6].push_back(std::bit_cast<int>(static_cast<float>(static_cast<int>(bits))));
    float down = static_cast<float>(bits);
    if (static_cast<double>(down) > static_cast<double>(bits)) down = std::nextafter(down, 0.0f);
    rows[7].push_back(std::bit_cast<int>(down));
    rows[8].push_back(static_cast<int>(std::bit_cast<std::uint64_t>(static_cast<double>(v)) >> 32));
    rows[9].push_back(static_cast<int>(0x3ff123456789abcdULL + static_cast<unsigned>(i)));
    const double low = std::floor(static_cast<double>(v));
    const long long wide = low >= 0x1p63   ? INT64_MAX
                           : low < -0x1p63 ? INT64_MIN
                                           : static_cast<long long>(low);
    rows[10].push_back(static_cast<int>(wide >> 3));
  }
  std::vector<int> expected;
  for (const auto& row : rows) expected.insert(expected.end(), row.begin(), row.end());
  trial t{s};
  auto& xs = t.array_of(x);
  auto& ys = t.zeros<int>(expected.size());
  t.run([&](stream_ref on) { run(on, grid_1d(n, 64), code.kernel("convert"), xs, ys, n); },
        [&] { expect_equal(ys.read(), expected); });
}

TEST_F(MathFunctions, OperationsRoundAsNamed) {
  const int n = 1501;
  std::vector<float> a = random_values<float>(n, -2.0f, 2.0f, 1);
  std::vector<float> b = random_values<float>(n, 1.0f, 2.0f, 2);
  for (int i = 0; i < n; ++i) {  // at most 20 bits: sums and products are exact in double precision
    a[i] = std::ldexp(std::rint(std::ldexp(a[i], 18)), -18);
    b[i] = std::ldexp(std::rint(std::ldexp(b[i], 19)), -19);
  }
  // Round to the greatest float not above, and to the least float not below.
  const auto down = [](double v) {
    const auto nearest = static_cast<float>(v);
    return double{nearest} > v ? std::nextafter(nearest, -INFINITY) : nearest;
  };
  const auto up = [&](double v) { return -down(-v); };
  const auto to_zero = [&](double v) { return v < 0 ? up(v) : down(v); };
  const auto exactly = [](float quotient, float divisor) { return double{quotient} * divisor; };
  std::vector<float> expected(11 * n);
  for (int i = 0; i < n; ++i) {
    const double u = a[i];
    const double v = b[i];
    expected[i] = to_zero(u + v);
    expected[n + i] = up(u + v);
    expected[2 * n + i] = down(u * v);
    expected[3 * n + i] = up(u * v);
    expected[4 * n + i] = to_zero(u * v - 2.5);
    expected[5 * n + i] = up(u * v + 1.0);
    const float quotient = a[i] / b[i];
    expected[6 * n + i] =
        exactly(quotient, b[i]) > u ? std::nextafter(quotient, -INFINITY) : quotient;
    expected[7 * n + i] =
        exactly(quotient, b[i]) < u ? std::nextafter(quotient, INFINITY) : quotient;
    const float root = std::sqrt(b[i]);
    expected[8 * n + i] = exactly(root, root) > v ? std::nextafter(root, 0.0f) : root;
    expected[9 * n + i] = down(u * v);
    expected[10 * n + i] = 1.0f;
  }
  trial t{s};
  auto& as = t.array_of(a);
  auto& bs = t.array_of(b);
  auto& ys = t.zeros<float>(expected.size());
  t.run([&](stream_ref on) { run(on, grid_1d(n, 96), code.kernel("rounded"), as, bs, ys, n); },
        [&] { expect_within(0, ys.read(), expected); });
}

TEST_F(MathFunctions, SpecialFunctionsAreAccurate) {
  using d = double;
  const std::vector<function_row<float, double>> rows = {
      {"erfcf", 5, [](d v) { return std::erfc(v); }},
      {"normcdff", 6,
       [](d v) {
         return std::erfc(-static_cast<d>(static_cast<float>(v) - 2.0f) / std::sqrt(2.0)) / 2;
       }},
      {"norm3df", 4, [](d v) { return std::sqrt(v * v + 5); }},
      {"rhypotf", 3, [](d v) { return 1 / std::sqrt(v * v + 4); }},
      {"erfinvf", 3,
       [](d v) { return inverse_of_erf(static_cast<d>(static_cast<float>(v) / 8.5f)); }},
      {"lgammaf", 7, [](d v) { return std::lgamma(static_cast<d>(static_cast<float>(v) + 3.0f)); }},
      {"atanhf", 4, [](d v) { return std::atanh(static_cast<d>(static_cast<float>(v) / 8.5f)); }},
      {"asinhf", 4, [](d v) { return std::asinh(v); }},
      {"acoshf", 5, [](d v) { return std::acosh(static_cast<d>(static_cast<float>(v) + 1.0f)); }},
      {"lgamma", 1, [](d v) { return std::lgamma(v + 3.0); }},
  };
  const int n = 1003;
  const std::vector<float> x = random_values<float>(n, 0.05f, 6.0f);
  trial t{s};
  auto& xs = t.array_of(x);
  auto& ys = t.zeros<float>(n * rows.size());
  t.run([&](stream_ref on) { run(on, grid_1d(n, 128), code.kernel("special"), xs, ys, n); },
        [&] { expect_rows(x, ys.read(), rows); });
}

TEST_F(MathFunctions, FastFunctionsAreApproximatelyCorrect) {
  const int n = 1000;
  const std::vector<float> x = random_values<float>(n, 0.05f, 6.0f);
  trial t{s};
  auto& xs = t.array_of(x);
  auto& ys = t.zeros<float>(6 * n);
  const auto check = [&] {
    const std::vector<float> y = ys.read();
    const auto row = [&](int r) {
      return std::vector<float>(y.begin() + r * n, y.begin() + (r + 1) * n);
    };
    const auto of = [&](const std::function<double(double)>& f) {
      std::vector<float> expected;
      for (const float v : x) expected.push_back(static_cast<float>(f(v)));
      return expected;
    };
    // __expf: 2 + |1.173 x| ulps; __fdividef: 2; one more for the reference's own rounding.
    expect_within(10, row(0), of([](double v) { return std::exp(v); }));
    expect_within(3, row(1), of([](double v) { return 1 / v; }));
    // __sinf: 2^-21.41 from -pi to pi, where the sum that begins with 2 has ulps of 2^-23 and
    // 2^-22.
    expect_within(5, row(2),
                  of([](double v) { return std::sin(static_cast<float>(v) - 3.0f) + 2; }));
    // __powf is exp2f(1.5 * __log2f(x)) with an exponent of at most 3.9, so an error e of the
    // logarithm becomes about 4e.
    expect_within(64, row(3), of([](double v) { return std::pow(v, 1.5); }));
    expect_within(4, row(4), of([](double v) { return std::log2(static_cast<float>(v) + 2.0f); }));
    expect_within(0, row(5), of([](double v) {
                    return std::clamp(static_cast<float>(v) - 0.5f, 0.0f, 1.0f);
                  }));
  };
  t.run([&](stream_ref on) { run(on, grid_1d(n, 128), code.kernel("fast"), xs, ys, n); }, check);
}

}  // namespace
}  // namespace weir::test
