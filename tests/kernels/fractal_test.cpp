// SPDX-License-Identifier: Apache-2.0
// fractal_test.cpp - kernels that compute fractals. The references round each operation as the
// kernels' intrinsics specify.
#include <cmath>
#include <cstdint>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

class Fractal : public kernel_fixture {
 protected:
  const module& code = kernel_module("fractal");
};

TEST_F(Fractal, TheMandelbrotSetIsComputed) {
  const int width = 77;
  const int height = 45;
  const int limit = 300;
  const double pixel = 3.1 / width;
  std::vector<std::uint16_t> expected;
  for (int py = 0; py < height; ++py) {
    for (int px = 0; px < width; ++px) {
      const double cx = std::fma(px, pixel, -2.2);
      const double cy = std::fma(-py, pixel, 1.0);
      double x = 0;
      double y = 0;
      int step = 0;
      for (; step < limit; ++step) {
        const double xx = x * x;
        const double yy = y * y;
        if (xx + yy > 4.0) break;
        y = std::fma(2 * x, y, cy);
        x = xx - yy + cx;
      }
      expected.push_back(static_cast<std::uint16_t>(step));
    }
  }
  for (const auto& [bx, by] : {std::pair{16u, 16u}, {32u, 1u}, {5u, 7u}}) {
    trial t{s};
    auto& steps = t.zeros<std::uint16_t>(expected.size());
    const launch_config config = grid_2d(width, height, bx, by);
    t.run(
        [&](stream_ref on) {
          run(on, config, code.kernel("mandelbrot"), steps, width, height, -2.2, 1.0, pixel, limit);
        },
        [&] { expect_equal(steps.read(), expected); });
  }
}

TEST_F(Fractal, JuliaSetsAreComputed) {
  const int side = 61;
  for (const int power : {2, 3, 5}) {
    std::vector<std::uint8_t> expected;
    for (int i = 0; i < side * side; ++i) {
      float re = static_cast<float>(i % side) * (3.0f / 64) - 1.5f;
      float im = static_cast<float>(i / side) * (3.0f / 64) - 1.5f;
      std::uint8_t step = 0;
      while (step < 255 && re * re + im * im < 4) {
        float next_re = re;
        float next_im = im;
        for (int k = 1; k < power; ++k) {
          const float kept = next_re;
          next_re = kept * re - next_im * im;
          next_im = kept * im + next_im * re;
        }
        re = next_re + -0.4f;
        im = next_im + 0.6f;
        ++step;
      }
      expected.push_back(step);
    }
    const kernel julia = code.kernel("julia<" + std::to_string(power) + ">");
    for (const unsigned block : {64u, 250u}) {
      trial t{s};
      auto& steps = t.zeros<std::uint8_t>(expected.size());
      t.run(
          [&](stream_ref on) {
            run(on, grid_1d(side * side, block), julia, steps, side, -0.4f, 0.6f);
          },
          [&] { expect_equal(steps.read(), expected); });
    }
  }
}

TEST_F(Fractal, NewtonFractalsAreComputed) {
  const int side = 53;
  std::vector<std::int8_t> expected;
  for (int i = 0; i < side * side; ++i) {
    float x = 4.0f * static_cast<float>(i % side) / side - 2.0f;
    float y = 4.0f * static_cast<float>(i / side) / side - 2.0f;
    for (int k = 0; k < 40; ++k) {
      const float square = x * x + y * y;
      const float d = 3.0f * (square * square);
      if (d == 0.0f) break;
      const float re = x * x - y * y;
      const float im = 2.0f * (x * y);
      x = 2.0f / 3 * x + re / d;
      y = 2.0f / 3 * y - im / d;
    }
    expected.push_back(static_cast<std::int8_t>(x > 0.5f ? 0 : y > 0.5f ? 1 : y < -0.5f ? 2 : -1));
  }
  trial t{s};
  auto& roots = t.zeros<std::int8_t>(expected.size());
  t.run(
      [&](stream_ref on) {
        run(on, grid_2d(side, side, 16, 8), code.kernel("newton"), roots, side);
      },
      [&] { expect_equal(roots.read(), expected); });
}

}  // namespace
}  // namespace weir::test
