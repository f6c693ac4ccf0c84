// SPDX-License-Identifier: Apache-2.0
// matrix_test.cpp - kernels of dense linear algebra.
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

template <class T>
std::vector<T> product_of(const std::vector<T>& a, const std::vector<T>& b, int m, int n, int k) {
  std::vector<T> c(m * n);
  for (int row = 0; row < m; ++row) {
    for (int i = 0; i < k; ++i) {
      for (int column = 0; column < n; ++column)
        c[row * n + column] += a[row * k + i] * b[i * n + column];
    }
  }
  return c;
}

class Matrix : public kernel_fixture {
 protected:
  const module& code = kernel_module("matrix");
};

TEST_F(Matrix, EachThreadComputesOneProductElement) {
  const int m = 37;
  const int n = 41;
  const int k = 29;
  const auto a = random_integers<double>(m * k, -1000, 1000, 1);
  const auto b = random_integers<double>(k * n, -1000, 1000, 2);
  const auto expected = product_of(a, b, m, n, k);
  for (const auto& [bx, by] : {std::pair{16u, 16u}, {40u, 3u}}) {
    trial t{s};
    auto& as = t.array_of(a);
    auto& bs = t.array_of(b);
    auto& c = t.zeros<double>(m * n);
    t.run(
        [&](stream_ref on) {
          run(on, grid_2d(n, m, bx, by), code.kernel("product"), as, bs, c, m, n, k);
        },
        [&] { expect_within(0, c.read(), expected); });  // integers below 2^53
  }
}

TEST_F(Matrix, TilesComputeAProduct) {
  const int m = 50;
  const int n = 71;
  const int k = 43;
  const auto a = random_values<float>(m * k, 0.5f, 1.0f, 1);
  const auto b = random_values<float>(k * n, 0.5f, 1.0f, 2);
  const std::vector<double> wide_a(a.begin(), a.end());
  const std::vector<double> wide_b(b.begin(), b.end());
  const auto exact = product_of(wide_a, wide_b, m, n, k);
  const std::vector<float> expected(exact.begin(), exact.end());
  for (const unsigned tile : {8u, 16u, 32u}) {
    const kernel tiles = code.kernel("product_by_tiles<" + std::to_string(tile) + ">");
    trial t{s};
    auto& as = t.array_of(a);
    auto& bs = t.array_of(b);
    auto& c = t.zeros<float>(m * n);
    // All values are nonnegative: each of 43 products and 43 sums is rounded by at most half an ulp
    // of the result.
    t.run([&](stream_ref on) { run(on, grid_2d(n, m, tile, tile), tiles, as, bs, c, m, n, k); },
          [&] { expect_within(43, c.read(), expected); });
  }
}

TEST_F(Matrix, WarpsMultiplyAMatrixAndAVector) {
  const int rows = 45;
  const int columns = 133;
  const auto a = random_integers<float>(rows * columns, -100, 100, 1);
  const auto x = random_integers<float>(columns, -100, 100, 2);
  const auto expected = product_of(a, x, rows, 1, columns);
  for (const unsigned block : {32u, 96u, 512u}) {
    trial t{s};
    auto& as = t.array_of(a);
    auto& xs = t.array_of(x);
    auto& ys = t.zeros<float>(rows);
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(32 * rows, block), code.kernel("times_vector"), as, xs, ys, rows,
              columns);
        },
        [&] { expect_within(0, ys.read(), expected); });  // integers below 2^24
  }
}

TEST_F(Matrix, CholeskyFindsTheFactor) {
  const int n = 33;
  // The matrix is the product of a lower triangular integer matrix and its transpose: the factor is
  // that triangle, and every step is exact.
  std::vector<double> factor = random_integers<double>(n * n, -9, 9);
  for (int i = 0; i < n; ++i) {
    factor[i * n + i] = 8.0;
    for (int j = i + 1; j < n; ++j) factor[i * n + j] = 0;
  }
  std::vector<double> a(n * n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int k = 0; k < n; ++k) a[i * n + j] += factor[i * n + k] * factor[j * n + k];
    }
  }
  std::vector<double> expected = factor;
  for (int i = 0; i < n; ++i) {
    // the upper half does not change
    for (int j = i + 1; j < n; ++j) expected[i * n + j] = a[i * n + j];
  }
  for (const unsigned block : {1u, 20u, 64u}) {
    trial t{s};
    auto& m = t.array_of(a);
    t.run([&](stream_ref on) { run(on, {.block = {block}}, code.kernel("cholesky"), m, n); },
          [&] { expect_within(0, m.read(), expected); });
  }
}

TEST_F(Matrix, ATriangularSystemIsSolved) {
  for (const int n : {1, 50, 300}) {
    const auto l = random_values<std::uint32_t>(n * n, 0, UINT32_MAX, 1);
    const auto expected = random_values<std::uint32_t>(n, 0, UINT32_MAX, 2);
    std::vector<std::uint32_t> b = expected;
    for (int row = 0; row < n; ++row) {
      for (int column = 0; column < row; ++column) b[row] += l[row * n + column] * expected[column];
    }
    trial t{s};
    auto& ls = t.array_of(l);
    auto& bs = t.array_of(b);
    auto& x = t.zeros<std::uint32_t>(n);
    const unsigned threads = static_cast<unsigned>(n);
    t.run(
        [&](stream_ref on) {
          run(on, {.block = {threads}, .shared_bytes = threads * 4}, code.kernel("solve_lower"), ls,
              bs, x, n);
        },
        [&] { expect_equal(x.read(), expected); });
  }
}

TEST_F(Matrix, GaussianEliminationFindsDeterminants) {
  const int n = 12;
  const unsigned batch = 9;
  const unsigned prime = 1000003;
  auto matrices = random_values<std::uint32_t>(batch * n * n, 0, prime - 1);
  // two equal rows: the determinant is 0
  std::copy_n(&matrices[2 * n * n], n, &matrices[2 * n * n + n]);
  for (unsigned b = 0; b < batch; b += 3) matrices[b * n * n] = 0;  // needs a pivot search
  const auto determinant = [&](std::vector<std::uint64_t> m) {
    std::uint64_t result = 1;
    for (int c = 0; c < n; ++c) {
      int pivot = c;
      while (pivot < n && m[pivot * n + c] == 0) ++pivot;
      if (pivot == n) return std::uint64_t{0};
      if (pivot != c) {
        std::swap_ranges(&m[pivot * n], &m[pivot * n] + n, &m[c * n]);
        result = prime - result;
      }
      result = result * m[c * n + c] % prime;
      for (int r = c + 1; r < n; ++r) {
        std::uint64_t inverse = 1;
        for (std::uint64_t base = m[c * n + c], e = prime - 2; e != 0;
             e >>= 1, base = base * base % prime) {
          if ((e & 1) != 0) inverse = inverse * base % prime;
        }
        const std::uint64_t factor = m[r * n + c] * inverse % prime;
        for (int i = c; i < n; ++i)
          m[r * n + i] = (m[r * n + i] + (prime - factor) * m[c * n + i]) % prime;
      }
    }
    return result % prime;
  };
  std::vector<std::uint32_t> expected;
  for (unsigned b = 0; b < batch; ++b) {
    const auto begin = matrices.begin() + b * n * n;
    expected.push_back(static_cast<std::uint32_t>(determinant({begin, begin + n * n})));
  }
  EXPECT_EQ(expected[2], 0u);
  for (const unsigned block : {5u, 64u}) {
    trial t{s};
    auto& m = t.array_of(matrices);
    auto& results = t.zeros<std::uint32_t>(batch);
    const launch_config config{.grid = {batch}, .block = {block}, .shared_bytes = n * n * 4};
    t.run(
        [&](stream_ref on) { run(on, config, code.kernel("determinants"), m, results, n, prime); },
        [&] { expect_equal(results.read(), expected); });
  }
}

}  // namespace
}  // namespace weir::test
