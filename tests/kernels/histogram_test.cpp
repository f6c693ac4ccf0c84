// SPDX-License-Identifier: Apache-2.0
// histogram_test.cpp - kernels that count.
#include <cmath>
#include <cstdint>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

class Histogram : public kernel_fixture {
 protected:
  const module& code = kernel_module("histogram");
};

TEST_F(Histogram, BytesAreCounted) {
  const kernel each = code.kernel("count_bytes");
  const kernel by_blocks = code.kernel("count_bytes_by_blocks");
  for (const std::size_t n : {std::size_t{4}, std::size_t{20012}}) {
    const auto in = random_values<std::uint8_t>(n, 0, 255);
    std::vector<std::uint32_t> expected(256);
    for (const std::uint8_t byte : in) ++expected[byte];
    for (const auto& [grid, block] : {std::pair{1u, 64u}, {7u, 100u}, {30u, 256u}}) {
      trial t{s};
      auto& bytes = t.array_of(in);
      auto& bins = t.zeros<std::uint32_t>(256);
      auto& same = t.zeros<std::uint32_t>(256);
      t.run(
          [&](stream_ref on) {
            run(on, {.grid = {grid}, .block = {block}}, each, bytes, n, bins);
            run(on, {.grid = {grid}, .block = {block}}, by_blocks, bytes, n / 4, same);
          },
          [&] {
            expect_equal(bins.read(), expected);
            expect_equal(same.read(), expected);
          });
    }
  }
}

TEST_F(Histogram, EachThreadCountsOneNibble) {
  const kernel count = code.kernel("count_nibbles");
  const int n = 6007;
  const auto words = random_values<std::uint32_t>(n, 0, UINT32_MAX / 3);
  std::vector<unsigned long long> expected(16);
  for (const std::uint32_t word : words) {
    for (int k = 0; k < 8; ++k) ++expected[word >> (4 * k) & 15];
  }
  for (const unsigned block : {16u, 72u, 256u}) {
    trial t{s};
    auto& in = t.array_of(words);
    auto& bins = t.zeros<unsigned long long>(16);
    t.run([&](stream_ref on) { run(on, {.grid = {9}, .block = {block}}, count, in, n, bins); },
          [&] { expect_equal(bins.read(), expected); });
  }
}

TEST_F(Histogram, WeightsAreSummedInAPlane) {
  const kernel weigh = code.kernel("weigh");
  const int n = 5001;
  const int width = 13;
  const int height = 9;
  const std::vector<float> points = random_values<float>(2 * n, -0.1f, 1.1f, 1);
  const std::vector<float> weights = random_integers<float>(n, 0, 100, 2);
  std::vector<float> fields(width * height);
  int outside = 0;
  for (int i = 0; i < n; ++i) {
    const float x = std::floor(points[2 * i] * width);
    const float y = std::floor(points[2 * i + 1] * height);
    if (x < 0 || y < 0 || x >= width || y >= height) {
      ++outside;
    } else {
      fields[static_cast<int>(y) * width + static_cast<int>(x)] += weights[i];
    }
  }
  trial t{s};
  auto& p = t.array_of(points);
  auto& w = t.array_of(weights);
  auto& f = t.zeros<float>(fields.size());
  auto& o = t.zeros<int>(1);
  t.run([&](stream_ref on) { run(on, grid_1d(n, 96), weigh, p, w, n, f, width, height, o); },
        [&] {
          expect_equal(f.read(), fields);  // integers: the order does not matter
          expect_equal(o.read(), {outside});
        });
}

TEST_F(Histogram, WarpsCountEqualElementsFirst) {
  const kernel count = code.kernel("count_words");
  const int n = 2501;
  const auto in = random_values<std::uint32_t>(n, 0, 40);
  std::vector<std::uint32_t> expected(41);
  for (const std::uint32_t v : in) ++expected[v];
  for (const unsigned block : {32u, 128u, 480u}) {
    trial t{s};
    auto& values = t.array_of(in);
    auto& bins = t.zeros<std::uint32_t>(41);
    t.run([&](stream_ref on) { run(on, grid_1d(n, block), count, values, n, bins); },
          [&] { expect_equal(bins.read(), expected); });
  }
}

}  // namespace
}  // namespace weir::test
