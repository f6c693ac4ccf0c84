// SPDX-License-Identifier: Apache-2.0
// transpose_test.cpp - kernels that permute an array.
#include <cstdint>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

class Transpose : public kernel_fixture {
 protected:
  template <class T>
  [[nodiscard]] static std::vector<T> transposed(const std::vector<T>& in, int width, int height) {
    std::vector<T> out(in.size());
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) out[x * height + y] = in[y * width + x];
    }
    return out;
  }

  const module& code = kernel_module("transpose");
};

TEST_F(Transpose, MatricesOfAnyTypeAreTransposed) {
  const int width = 45;
  const int height = 70;
  const auto bytes = random_values<std::uint8_t>(width * height, 0, 255);
  const auto doubles = random_values<double>(width * height, -1.0, 1.0);
  for (const auto& [bx, by] : {std::pair{16u, 16u}, {33u, 2u}}) {
    trial t{s};
    auto& b = t.array_of(bytes);
    auto& bt = t.zeros<std::uint8_t>(bytes.size());
    auto& d = t.array_of(doubles);
    auto& dt = t.zeros<double>(doubles.size());
    const launch_config config = grid_2d(width, height, bx, by);
    t.run(
        [&](stream_ref on) {
          run(on, config, code.kernel("transpose<unsigned char>"), b, bt, width, height);
          run(on, config, code.kernel("transpose<double>"), d, dt, width, height);
        },
        [&] {
          expect_equal(bt.read(), transposed(bytes, width, height));
          expect_equal(dt.read(), transposed(doubles, width, height));
        });
  }
}

TEST_F(Transpose, TilesTransposeAMatrix) {
  const kernel tiles = code.kernel("transpose_tiles");
  for (const auto& [width, height] : {std::pair{1, 1}, {64, 32}, {75, 50}}) {
    const std::vector<float> in = random_values<float>(width * height, -1.0f, 1.0f);
    for (const unsigned rows : {4u, 8u, 32u}) {
      trial t{s};
      auto& from = t.array_of(in);
      auto& to = t.zeros<float>(in.size());
      const launch_config config{.grid = {blocks_for(width, 32), blocks_for(height, 32)},
                                 .block = {32, rows}};
      t.run([&](stream_ref on) { run(on, config, tiles, from, to, width, height); },
            [&] { expect_equal(to.read(), transposed(in, width, height)); });
    }
  }
}

TEST_F(Transpose, ASquareIsTransposedInPlace) {
  const kernel square = code.kernel("transpose_square");
  for (const int n : {5, 16, 53}) {
    const auto in = random_values<std::uint16_t>(n * n, 0, 65535);
    trial t{s};
    auto& numbers = t.array_of(in);
    t.run([&](stream_ref on) { run(on, grid_2d(n, n, 16, 16), square, numbers, n); },
          [&] { expect_equal(numbers.read(), transposed(in, n, n)); });
  }
}

TEST_F(Transpose, AnArrayOfStructsBecomesAStructOfArrays) {
  struct particle {
    float x, y, z;
    int id;
    double mass;
  };
  const int n = 1013;
  std::vector<particle> in(n);
  std::vector<float> places(3 * n);
  std::vector<int> ids(n);
  std::vector<double> masses(n);
  for (int i = 0; i < n; ++i) {
    const auto v = static_cast<float>(i);
    in[i] = {v + 0.25f, v + 0.5f, v + 0.75f, 3 * i, 1.0 / (i + 1)};
    places[3 * i] = v + 0.25f;
    places[3 * i + 1] = v + 0.5f;
    places[3 * i + 2] = v + 0.75f;
    ids[i] = 3 * i;
    masses[i] = 1.0 / (i + 1);
  }
  trial t{s};
  auto& all = t.array_of(in);
  auto& p = t.zeros<float>(3 * n);
  auto& id = t.zeros<int>(n);
  auto& m = t.zeros<double>(n);
  t.run([&](stream_ref on) { run(on, grid_1d(n, 224), code.kernel("unzip"), all, n, p, id, m); },
        [&] {
          expect_equal(p.read(), places);
          expect_equal(id.read(), ids);
          expect_equal(m.read(), masses);
        });
}

TEST_F(Transpose, AxesArePermuted) {
  struct extent {
    int x, y, z;
  };
  const extent n{7, 12, 21};
  const std::vector<int> in = random_values<int>(n.x * n.y * n.z, INT32_MIN, INT32_MAX);
  std::vector<int> expected(in.size());
  for (int x = 0; x < n.x; ++x) {
    for (int y = 0; y < n.y; ++y) {
      for (int z = 0; z < n.z; ++z) expected[(z * n.x + x) * n.y + y] = in[(x * n.y + y) * n.z + z];
    }
  }
  for (const kernel_extent block : {kernel_extent{4, 4, 4}, {9, 5, 3}}) {
    trial t{s};
    auto& from = t.array_of(in);
    auto& to = t.zeros<int>(in.size());
    const launch_config config{
        .grid = {blocks_for(n.z, block.x), blocks_for(n.y, block.y), blocks_for(n.x, block.z)},
        .block = block};
    t.run([&](stream_ref on) { run(on, config, code.kernel("turn_axes"), from, to, n); },
          [&] { expect_equal(to.read(), expected); });
  }
}

}  // namespace
}  // namespace weir::test
