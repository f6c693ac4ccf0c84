// SPDX-License-Identifier: Apache-2.0
// signals_test.cpp - kernels that transform signals.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

class Signals : public kernel_fixture {
 protected:
  const module& code = kernel_module("signals");
};

TEST_F(Signals, NumberTheoreticTransformsMultiplyPolynomials) {
  constexpr std::uint64_t prime = 998244353;
  const unsigned rows = 3;
  for (const unsigned n : {2u, 64u, 512u}) {
    auto a = random_values<std::uint32_t>(rows * n, 0, prime - 1, 1);
    auto b = random_values<std::uint32_t>(rows * n, 0, prime - 1, 2);
    std::vector<std::uint32_t> expected(rows * n);
    for (unsigned row = 0; row < rows; ++row) {
      for (unsigned i = n / 2; i < n; ++i) a[row * n + i] = b[row * n + i] = 0;
      for (unsigned i = 0; i < n / 2; ++i) {
        for (unsigned k = 0; k < n / 2; ++k) {
          std::uint32_t& to = expected[row * n + i + k];
          to = static_cast<std::uint32_t>((to + std::uint64_t{a[row * n + i]} * b[row * n + k]) %
                                          prime);
        }
      }
    }
    for (const unsigned block : {32u, 100u, 256u}) {
      trial t{s};
      auto& as = t.array_of(a);
      auto& bs = t.array_of(b);
      auto& c = t.zeros<std::uint32_t>(rows * n);
      const launch_config config{.grid = {rows}, .block = {block}, .shared_bytes = 8 * n};
      t.run(
          [&](stream_ref on) {
            run(on, config, code.kernel("multiply_polynomials"), as, bs, c, n);
          },
          [&] { expect_equal(c.read(), expected); });
    }
  }
}

TEST_F(Signals, FastFourierTransformsMatchTheDefinition) {
  const int n = 128;
  const unsigned rows = 4;
  const std::vector<float> in = random_values<float>(2 * n * rows, -1.0f, 1.0f);
  std::vector<std::complex<double>> expected(n * rows);
  double power = 0;
  for (unsigned row = 0; row < rows; ++row) {
    for (int k = 0; k < n; ++k) {
      for (int i = 0; i < n; ++i) {
        const std::complex<double> v{in[2 * (row * n + i)], in[2 * (row * n + i) + 1]};
        expected[row * n + k] += v * std::polar(1.0, -2 * std::numbers::pi * (i * k % n) / n);
      }
      power += std::norm(expected[row * n + k]);
    }
  }
  for (const unsigned block : {32u, 48u, 64u}) {
    trial t{s};
    auto& x = t.array_of(in);
    const auto check = [&] {
      const std::vector<float> out = x.read();
      double error = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        error += std::norm(expected[i] - std::complex<double>{out[2 * i], out[2 * i + 1]});
      }
      // Each of the 7 stages adds at most 4 ulps (2^-23) of a typical element. The error is
      // compared with the norm of all elements, because single elements may cancel.
      EXPECT_LT(std::sqrt(error / power), 7 * 4 * 0x1p-23);
    };
    const launch_config config{.grid = {rows}, .block = {block}, .shared_bytes = 8 * n};
    t.run([&](stream_ref on) { run(on, config, code.kernel("fourier"), x, n); }, check);
  }
}

TEST_F(Signals, EachThreadAddsAnEchoToAChannel) {
  const int channels = 37;
  const int length = 120;
  const int delay = 9;
  const auto in = random_values<short>(channels * length, -32768, 32767);
  std::vector<short> expected(in.size());
  for (int i = 0; i < channels * length; ++i) {
    int v = in[i];
    if (i >= delay * channels) v += expected[i - delay * channels] * 3 / 4;
    expected[i] = static_cast<short>(std::clamp(v, -32768, 32767));
  }
  for (const unsigned block : {32u, 5u}) {
    trial t{s};
    auto& from = t.array_of(in);
    auto& to = t.zeros<short>(in.size());
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(channels, block), code.kernel("echo"), from, to, channels, length, delay);
        },
        [&] { expect_equal(to.read(), expected); });
  }
}

TEST_F(Signals, ImagesAreResizedBilinearly) {
  const int width = 23;
  const int height = 17;
  const auto in = random_values<std::uint8_t>(3 * width * height, 0, 255);
  for (const auto& [new_width, new_height] : {std::pair{1, 1}, {50, 41}, {11, 60}}) {
    std::vector<std::uint8_t> expected;
    for (int y = 0; y < new_height; ++y) {
      for (int x = 0; x < new_width; ++x) {
        const int fx = x * (width - 1) * 256 / std::max(new_width - 1, 1);
        const int fy = y * (height - 1) * 256 / std::max(new_height - 1, 1);
        for (int part = 0; part < 3; ++part) {
          int sum = 32768;
          for (int corner = 0; corner < 4; ++corner) {
            const int cx = std::min(fx / 256 + corner % 2, width - 1);
            const int cy = std::min(fy / 256 + corner / 2, height - 1);
            const int weight = (corner % 2 != 0 ? fx % 256 : 256 - fx % 256) *
                               (corner / 2 != 0 ? fy % 256 : 256 - fy % 256);
            sum += weight * in[3 * (cy * width + cx) + part];
          }
          expected.push_back(static_cast<std::uint8_t>(sum >> 16));
        }
      }
    }
    trial t{s};
    auto& from = t.array_of(in);
    auto& to = t.zeros<std::uint8_t>(expected.size());
    t.run(
        [&](stream_ref on) {
          run(on, grid_2d(new_width, new_height, 16, 6), code.kernel("resize"), from, width, height,
              to, new_width, new_height);
        },
        [&] { expect_equal(to.read(), expected); });
  }
}

TEST_F(Signals, DynamicProgrammingFillsAKnapsack) {
  const int count = 40;
  const int room = 500;
  const std::vector<int> things = random_values<int>(2 * count, 1, 100);
  std::vector<int> expected(room + 1);
  for (int k = 0; k < count; ++k) {
    for (int here = room; here >= things[2 * k]; --here) {
      expected[here] = std::max(expected[here], expected[here - things[2 * k]] + things[2 * k + 1]);
    }
  }
  for (const unsigned block : {1u, 60u, 512u}) {
    trial t{s};
    auto& in = t.array_of(things);
    auto& best = t.zeros<int>(room + 1);
    t.run(
        [&](stream_ref on) {
          run(on, {.block = {block}}, code.kernel("knapsack"), in, count, best, room);
        },
        [&] { expect_equal(best.read(), expected); });
  }
}

}  // namespace
}  // namespace weir::test
