// SPDX-License-Identifier: Apache-2.0
// stencil_test.cpp - kernels that read a neighborhood of each element.
#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

class Stencil : public kernel_fixture {
 protected:
  const module& code = kernel_module("stencil");
};

TEST_F(Stencil, HeatSpreads) {
  const kernel heat = code.kernel("heat");
  const int width = 61;
  const int height = 43;
  const std::vector<float> start = random_integers<float>(width * height, 0, 1000);
  const auto step = [&](const std::vector<float>& from) {
    std::vector<float> to = from;
    for (int y = 1; y < height - 1; ++y) {
      for (int x = 1; x < width - 1; ++x) {
        const int i = y * width + x;
        to[i] = from[i] + 0.25f * (from[i - 1] + from[i + 1] + from[i - width] + from[i + width] -
                                   4 * from[i]);
      }
    }
    return to;
  };
  // 10 bits, and 2 more at each step: exact
  const std::vector<float> expected = step(step(step(start)));
  for (const auto& [bx, by] : {std::pair{32u, 8u}, {7u, 5u}, {64u, 1u}}) {
    trial t{s};
    auto& a = t.array_of(start);
    auto& b = t.zeros<float>(start.size());
    const launch_config config = grid_2d(width, height, bx, by);
    t.run(
        [&](stream_ref on) {
          run(on, config, heat, a, b, width, height, 0.25f);
          run(on, config, heat, b, a, width, height, 0.25f);
          run(on, config, heat, a, b, width, height, 0.25f);
        },
        [&] { expect_equal(b.read(), expected); });
  }
}

TEST_F(Stencil, SumsOfSevenUseHalosInSharedMemory) {
  const kernel sums = code.kernel("sum_of_seven");
  for (const unsigned block : {32u, 200u, 256u}) {
    for (const int n : {1, 199, 1000, 2047}) {
      const std::vector<int> in = random_values<int>(n, -1000000, 1000000);
      std::vector<int> expected(n);
      for (int i = 0; i < n; ++i) {
        for (int k = std::max(0, i - 3); k <= std::min(n - 1, i + 3); ++k) expected[i] += in[k];
      }
      trial t{s};
      auto& from = t.array_of(in);
      auto& to = t.zeros<int>(n);
      t.run([&](stream_ref on) { run(on, grid_1d(n, block), sums, from, to, n); },
            [&] { expect_equal(to.read(), expected); });
    }
  }
}

TEST_F(Stencil, ASevenPointStencilWrapsAroundACube) {
  const kernel points = code.kernel("seven_points");
  const unsigned nx = 19;
  const unsigned ny = 11;
  const unsigned nz = 7;
  const std::vector<double> in = random_integers<double>(nx * ny * nz, -1000, 1000);
  std::vector<double> expected(in.size());
  const auto at = [&](unsigned x, unsigned y, unsigned z) {
    return in[((z % nz) * ny + y % ny) * nx + x % nx];
  };
  for (unsigned z = 0; z < nz; ++z) {
    for (unsigned y = 0; y < ny; ++y) {
      for (unsigned x = 0; x < nx; ++x) {
        expected[(z * ny + y) * nx + x] = at(x + 1, y, z) + at(x + nx - 1, y, z) + at(x, y + 1, z) +
                                          at(x, y + ny - 1, z) + at(x, y, z + 1) +
                                          at(x, y, z + nz - 1) - 6 * at(x, y, z);
      }
    }
  }
  struct extent {
    unsigned x, y, z;
  };
  for (const kernel_extent block : {kernel_extent{8, 4, 2}, {5, 5, 5}}) {
    trial t{s};
    auto& from = t.array_of(in);
    auto& to = t.zeros<double>(in.size());
    const launch_config config{
        .grid = {blocks_for(nx, block.x), blocks_for(ny, block.y), blocks_for(nz, block.z)},
        .block = block};
    t.run(
        [&](stream_ref on) {
          run(on, config, points, from, to, extent{nx, ny, nz});
        },
        [&] {
          expect_within(0, to.read(), expected);
        });  // integers, and a zero may have either sign
  }
}

TEST_F(Stencil, RedBlackRelaxationRunsInPlace) {
  const kernel relax = code.kernel("relax");
  const int width = 53;
  const int height = 38;
  const std::vector<int> start = random_values<int>(width * height, -100000, 100000);
  std::vector<int> expected = start;
  for (int half = 0; half < 6; ++half) {
    for (int y = 1; y < height - 1; ++y) {
      for (int x = 1 + ((y + half) & 1); x < width - 1; x += 2) {
        int* c = &expected[y * width + x];
        *c = (c[-1] + c[1] + c[-width] + c[width]) >> 2;
      }
    }
  }
  trial t{s};
  auto& cells = t.array_of(start);
  t.run(
      [&](stream_ref on) {
        for (int half = 0; half < 6; ++half) {
          run(on, grid_2d((width + 1) / 2, height, 16, 4), relax, cells, width, height, half & 1);
        }
      },
      [&] { expect_equal(cells.read(), expected); });
}

TEST_F(Stencil, TheMedianOfNineIsFound) {
  const kernel median = code.kernel("median");
  const int width = 71;
  const int height = 29;
  const auto in = random_values<std::uint8_t>(width * height, 0, 255);
  std::vector<std::uint8_t> expected(in.size());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      std::array<std::uint8_t, 9> nine{};
      for (int k = 0; k < 9; ++k) {
        nine[k] = in[std::clamp(y + k / 3 - 1, 0, height - 1) * width +
                     std::clamp(x + k % 3 - 1, 0, width - 1)];
      }
      std::ranges::sort(nine);
      expected[y * width + x] = nine[4];
    }
  }
  for (const auto& [bx, by] : {std::pair{16u, 16u}, {25u, 3u}}) {
    trial t{s};
    auto& from = t.array_of(in);
    auto& to = t.zeros<std::uint8_t>(in.size());
    t.run(
        [&](stream_ref on) {
          run(on, grid_2d(width, height, bx, by), median, from, to, width, height);
        },
        [&] { expect_equal(to.read(), expected); });
  }
}

}  // namespace
}  // namespace weir::test
