// SPDX-License-Identifier: Apache-2.0
// templates_test.cpp - kernels that use C++ templates, lambdas and classes.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

class Templates : public kernel_fixture {
 protected:
  template <class T, class Operation>
  void combines(const char* name, const std::vector<T>& a, const std::vector<T>& b,
                const Operation& operation) {
    SCOPED_TRACE(name);
    const int n = static_cast<int>(a.size());
    std::vector<T> expected(n);
    std::ranges::transform(a, b, expected.begin(), operation);
    trial t{s};
    auto& as = t.array_of(a);
    auto& bs = t.array_of(b);
    auto& c = t.zeros<T>(n);
    t.run([&](stream_ref on) { run(on, grid_1d(n, 96), code.kernel(name), as, bs, c, n); },
          [&] { expect_equal(c.read(), expected); });
  }

  template <class T>
  void has_limits(const char* name, T first) {
    SCOPED_TRACE(name);
    trial t{s};
    auto& results = t.zeros<T>(3);
    t.run([&](stream_ref on) { run(on, {}, code.kernel(name), results); },
          [&] {
            expect_equal(results.read(), {first, T{15}, T{10}});
          });
  }

  const module& code = kernel_module("templates");
};

TEST_F(Templates, OneTemplateServesEveryTypeAndOperation) {
  const int n = 1001;
  combines("arithmetic::combine<float, arithmetic::plus>", random_values<float>(n, -1.0f, 1.0f, 1),
           random_values<float>(n, -1.0f, 1.0f, 2), [](float a, float b) { return a + b; });
  combines("arithmetic::combine<unsigned short, arithmetic::plus>",
           random_values<std::uint16_t>(n, 0, 65535, 1),
           random_values<std::uint16_t>(n, 0, 65535, 2),
           [](int a, int b) { return static_cast<std::uint16_t>(a + b); });
  combines("arithmetic::combine<long long, arithmetic::greater>",
           random_values<long long>(n, INT64_MIN, INT64_MAX, 1),
           random_values<long long>(n, INT64_MIN, INT64_MAX, 2),
           [](long long a, long long b) { return std::max(a, b); });
}

TEST_F(Templates, KernelsCallLambdas) {
  const int n = 1300;
  const std::vector<int> x = random_values<int>(n, INT32_MIN, INT32_MAX);
  std::vector<long long> expected;
  for (int i = 0; i < n; ++i) expected.push_back(static_cast<long long>(x[i]) * -3 + i);
  for (const unsigned block : {32u, 100u}) {
    trial t{s};
    auto& xs = t.array_of(x);
    auto& ys = t.zeros<long long>(n);
    t.run(
        [&](stream_ref on) {
          run(on, {.grid = {4}, .block = {block}}, code.kernel("by_lambdas"), xs, ys, n, -3);
        },
        [&] { expect_equal(ys.read(), expected); });
  }
}

TEST_F(Templates, StructsArePassedByValue) {
  struct options {
    int matrix[3][3];
    short offset[3];
    bool negate;
    double factor;
  };
  const options o{{{1, 2, 3}, {-4, 5, 6}, {7, 8, -9}}, {100, -200, 300}, true, 0.5};
  const char first = 7;
  const short last = -1000;
  const int n = 403;
  const std::vector<int> points = random_values<int>(3 * n, -1000, 1000);
  std::vector<int> expected;
  for (int i = 0; i < n; ++i) {
    int p[3] = {};
    for (int row = 0; row < 3; ++row) {
      for (int k = 0; k < 3; ++k) p[row] += o.matrix[row][k] * points[3 * i + k];
    }
    expected.push_back(-p[0] + 100 + first);
    expected.push_back(-p[1] - 200 + last);
    expected.push_back(static_cast<int>((-p[2] + 300) * 0.5));
  }
  trial t{s};
  auto& ps = t.array_of(points);
  auto& results = t.zeros<int>(3 * n);
  t.run(
      [&](stream_ref on) {
        run(on, grid_1d(n, 64), code.kernel("transform"), first, o, ps, results, last, n);
      },
      [&] { expect_equal(results.read(), expected); });
}

TEST_F(Templates, KernelsReadNumericLimits) {
  has_limits<float>("limits<float>", std::numeric_limits<float>::epsilon());
  has_limits<std::int8_t>("limits<signed char>", 63);
  has_limits<std::uint64_t>("limits<unsigned long>", UINT64_MAX / 2);
}

TEST_F(Templates, KernelsCallVirtualFunctions) {
  const int n = 500;
  std::vector<int> sides = random_values<int>(2 * n, 1, 1000);
  for (int i = 0; i < n; i += 3) sides[2 * i + 1] = 0;
  std::vector<int> expected;
  for (int i = 0; i < n; ++i) {
    expected.push_back(sides[2 * i] * (sides[2 * i + 1] == 0 ? sides[2 * i] : sides[2 * i + 1]));
  }
  trial t{s};
  auto& in = t.array_of(sides);
  auto& results = t.zeros<int>(n);
  t.run([&](stream_ref on) { run(on, grid_1d(n, 128), code.kernel("areas"), in, results, n); },
        [&] { expect_equal(results.read(), expected); });
}

}  // namespace
}  // namespace weir::test
