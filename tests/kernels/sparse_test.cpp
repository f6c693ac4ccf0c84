// SPDX-License-Identifier: Apache-2.0
// sparse_test.cpp - kernels over sparse matrices.
#include <algorithm>
#include <cstdint>
#include <random>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

// Integers, so that sums are exact in any order.
struct sparse {
  int rows = 211;
  int columns = 150;
  std::vector<int> starts{0};
  std::vector<int> row_of;
  std::vector<int> column_of;
  std::vector<float> values;
  std::vector<float> x = random_integers<float>(150, -100, 100, 3);
  std::vector<float> product;

  sparse() {
    std::mt19937 source{5};
    for (int row = 0; row < rows; ++row) {
      const auto count = row == 7 ? 0 : row == 100 ? 120 : source() % 12;
      float sum = 0;
      for (std::size_t k = 0; k < count; ++k) {
        row_of.push_back(row);
        column_of.push_back(static_cast<int>(source() % columns));
        values.push_back(static_cast<float>(static_cast<int>(source() % 200) - 100));
        sum += values.back() * x[column_of.back()];
      }
      starts.push_back(static_cast<int>(values.size()));
      product.push_back(sum);
    }
  }
};

class Sparse : public kernel_fixture {
 protected:
  // The kernels' format.
  struct csr {
    int rows;
    const int* starts;
    const int* columns;
    const float* values;
  };

  const sparse m;
  const module& code = kernel_module("sparse");
};

TEST_F(Sparse, ThreadsAndLanesMultiplyCompressedRows) {
  for (const unsigned block : {32u, 96u, 256u}) {
    trial t{s};
    auto& starts = t.array_of(m.starts);
    auto& columns = t.array_of(m.column_of);
    auto& values = t.array_of(m.values);
    auto& x = t.array_of(m.x);
    auto& y = t.zeros<float>(m.rows);
    auto& z = t.zeros<float>(m.rows);
    const csr a{m.rows, starts.data(), columns.data(), values.data()};
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(m.rows, block), code.kernel("by_threads"), a, x, y);
          run(on, grid_1d(8 * m.rows, block), code.kernel("by_lanes"), a, x, z);
        },
        [&] {
          expect_within(0, y.read(), m.product);
          expect_within(0, z.read(), m.product);
        });
  }
}

TEST_F(Sparse, TriplesAreMultipliedInAnyOrder) {
  std::vector<std::size_t> order(m.values.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::shuffle(order, std::mt19937{1});
  std::vector<int> rows, columns;
  std::vector<double> values;
  for (const std::size_t i : order) {
    rows.push_back(m.row_of[i]);
    columns.push_back(m.column_of[i]);
    values.push_back(m.values[i]);
  }
  const int count = static_cast<int>(order.size());
  trial t{s};
  auto& r = t.array_of(rows);
  auto& c = t.array_of(columns);
  auto& v = t.array_of(values);
  auto& x = t.array_of(std::vector<double>(m.x.begin(), m.x.end()));
  auto& y = t.zeros<double>(m.rows);
  t.run(
      [&](stream_ref on) {
        run(on, grid_1d(count, 128), code.kernel("by_triples"), count, r, c, v, x, y);
      },
      [&] { expect_within(0, y.read(), std::vector<double>(m.product.begin(), m.product.end())); });
}

TEST_F(Sparse, PaddedRowsAreMultiplied) {
  int width = 0;
  for (int row = 0; row < m.rows; ++row) width = std::max(width, m.starts[row + 1] - m.starts[row]);
  std::vector<int> columns(width * m.rows, -1);
  std::vector<float> values(width * m.rows);
  for (int row = 0; row < m.rows; ++row) {
    for (int k = 0; k < m.starts[row + 1] - m.starts[row]; ++k) {
      columns[k * m.rows + row] = m.column_of[m.starts[row] + k];
      values[k * m.rows + row] = m.values[m.starts[row] + k];
    }
  }
  trial t{s};
  auto& c = t.array_of(columns);
  auto& v = t.array_of(values);
  auto& x = t.array_of(m.x);
  auto& y = t.zeros<float>(m.rows);
  t.run(
      [&](stream_ref on) {
        run(on, grid_1d(m.rows, 50), code.kernel("by_columns"), m.rows, width, c, v, x, y);
      },
      [&] { expect_within(0, y.read(), m.product); });
}

TEST_F(Sparse, RowStartsAreFound) {
  const int count = static_cast<int>(m.row_of.size());
  for (const unsigned block : {1u, 60u, 512u}) {
    trial t{s};
    auto& rows = t.array_of(m.row_of);
    auto& starts = t.zeros<int>(m.rows + 1);
    const launch_config config{.block = {block},
                               .shared_bytes = static_cast<unsigned>(m.rows * sizeof(int))};
    t.run(
        [&](stream_ref on) {
          run(on, config, code.kernel("starts_of"), rows, count, m.rows, starts);
        },
        [&] { expect_equal(starts.read(), m.starts); });
  }
}

}  // namespace
}  // namespace weir::test
