// SPDX-License-Identifier: Apache-2.0
// convolution_test.cpp - kernels that filter signals and images.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

class Convolution : public kernel_fixture {
 protected:
  const module& code = kernel_module("convolution");
};

TEST_F(Convolution, ASignalIsConvolved) {
  const std::vector<float> taps = random_values<float>(9, 0.0f, 0.2f);
  set(taps, code.global<float[9]>("taps"));
  for (const int n : {1, 5, 3001}) {
    const std::vector<float> in = random_values<float>(n, -1.0f, 1.0f, 2);
    std::vector<float> expected(n);
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < 9; ++k) {
        if (i + k >= 4 && i + k - 4 < n)
          expected[i] = std::fma(in[i + k - 4], taps[k], expected[i]);
      }
    }
    trial t{s};
    auto& from = t.array_of(in);
    auto& to = t.zeros<float>(n);
    t.run([&](stream_ref on) { run(on, grid_1d(n, 96), code.kernel("filter"), from, to, n); },
          [&] { expect_equal(to.read(), expected); });  // the source calls fma explicitly
  }
}

TEST_F(Convolution, ASeparableFilterRunsAlongRowsAndColumns) {
  const std::vector<float> taps = random_integers<float>(9, -10, 10, 3);
  set(taps, code.global<float[9]>("taps"));
  const int width = 83;
  const int height = 37;
  const std::vector<float> in = random_integers<float>(width * height, -100, 100, 4);
  std::vector<float> rows(in.size());
  std::vector<float> expected(in.size());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int k = 0; k < 9; ++k) {
        if (x + k >= 4 && x + k - 4 < width)
          rows[y * width + x] += in[y * width + x + k - 4] * taps[k];
      }
    }
  }
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int k = 0; k < 9; ++k) {
        if (y + k >= 4 && y + k - 4 < height)
          expected[y * width + x] += rows[(y + k - 4) * width + x] * taps[k];
      }
    }
  }
  for (const unsigned block : {32u, 50u, 128u}) {
    trial t{s};
    auto& from = t.array_of(in);
    auto& between = t.zeros<float>(in.size());
    auto& to = t.zeros<float>(in.size());
    const launch_config along{.grid = {blocks_for(width, block), height},
                              .block = {block},
                              .shared_bytes = static_cast<unsigned>((block + 8) * sizeof(float))};
    t.run(
        [&](stream_ref on) {
          run(on, along, code.kernel("filter_rows"), from, between, width);
          run(on, grid_2d(width, height, 32, 4), code.kernel("filter_columns"), between, to, width,
              height);
        },
        [&] { expect_within(0, to.read(), expected); });  // integers below 2^24
  }
}

TEST_F(Convolution, AnImageIsConvolvedWithMirroredBorders) {
  const std::vector<int> weights = random_values<int>(25, -6, 12, 5);
  set(weights, code.global<int[25]>("kernel_2d"));
  for (const auto& [width, height] : {std::pair{3, 2}, {67, 45}}) {
    const auto in = random_values<std::uint8_t>(width * height, 0, 255, 6);
    const auto mirrored = [](int i, int n) { return i < 0 ? -i - 1 : i < n ? i : 2 * n - 1 - i; };
    std::vector<std::uint8_t> expected(in.size());
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        int sum = 0;
        for (int k = 0; k < 25; ++k) {
          sum += weights[k] *
                 in[mirrored(y + k / 5 - 2, height) * width + mirrored(x + k % 5 - 2, width)];
        }
        expected[y * width + x] = static_cast<std::uint8_t>(std::clamp(sum / 64, 0, 255));
      }
    }
    trial t{s};
    auto& from = t.array_of(in);
    auto& to = t.zeros<std::uint8_t>(in.size());
    const launch_config config = grid_2d(width, height, 16, 16);
    t.run(
        [&](stream_ref on) {
          run(on, config, code.kernel("filter_picture"), from, to, width, height);
        },
        [&] { expect_equal(to.read(), expected); });
  }
}

TEST_F(Convolution, TheSobelFilterFindsSlopes) {
  const int width = 65;
  const int height = 31;
  const auto in = random_values<std::uint8_t>(width * height, 0, 255, 7);
  std::vector<std::uint16_t> expected(2 * in.size());
  for (int y = 1; y < height - 1; ++y) {
    for (int x = 1; x < width - 1; ++x) {
      const auto at = [&](int i, int j) { return int{in[(y + j) * width + x + i]}; };
      const int gx = at(1, -1) + 2 * at(1, 0) + at(1, 1) - at(-1, -1) - 2 * at(-1, 0) - at(-1, 1);
      const int gy = at(-1, 1) + 2 * at(0, 1) + at(1, 1) - at(-1, -1) - 2 * at(0, -1) - at(1, -1);
      expected[2 * (y * width + x)] = static_cast<std::uint16_t>(std::abs(gx) + std::abs(gy));
      expected[2 * (y * width + x) + 1] =
          static_cast<std::uint16_t>((gx < 0 ? 1 : 0) + (gy < 0 ? 2 : 0));
    }
  }
  for (const auto& [bx, by] : {std::pair{32u, 8u}, {9u, 9u}}) {
    trial t{s};
    auto& from = t.array_of(in);
    auto& to = t.zeros<std::uint16_t>(expected.size());
    t.run(
        [&](stream_ref on) {
          run(on, grid_2d(width - 2, height - 2, bx, by), code.kernel("sobel"), from, to, width,
              height);
        },
        [&] { expect_equal(to.read(), expected); });
  }
}

}  // namespace
}  // namespace weir::test
