// SPDX-License-Identifier: Apache-2.0
// n_body_test.cpp - kernels over bodies and points.
#include <cmath>
#include <cstdint>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

class NBody : public kernel_fixture {
 protected:
  const module& code = kernel_module("n_body");
};

TEST_F(NBody, BodiesAttractEachOtherInTiles) {
  const int n = 301;
  const float softening = 0.01f;
  std::vector<float> bodies = random_values<float>(4 * n, 0.0f, 1.0f);
  // all other bodies pull the first one in one direction
  for (int i = 1; i < n; ++i) bodies[4 * i] += 2.0f;
  double sum = 0;
  for (int j = 1; j < n; ++j) {
    double square = softening;
    for (int a = 0; a < 3; ++a)
      square += std::pow(double{bodies[4 * j + a]} - double{bodies[a]}, 2);
    sum += (double{bodies[4 * j]} - double{bodies[0]}) * bodies[4 * j + 3] /
           (square * std::sqrt(square));
  }
  const auto expected = static_cast<float>(sum);
  for (const unsigned block : {32u, 100u, 256u}) {
    trial t{s};
    auto& b = t.array_of(bodies);
    auto& pull = t.zeros<float>(3 * n);
    const auto check = [&] {
      const std::vector<float> pulls = pull.read();
      // A term has at most 16 ulps (4 for the square, twice 1.5 and 2 for rsqrtf, the rest for
      // products), all terms of x are positive, and 301 sums are rounded.
      EXPECT_LE(ulps_between(pulls[0], expected), 16u + 301u);
      // The forces add up to zero, since each has its reaction.
      double momentum = 0;
      for (int i = 0; i < n; ++i) momentum += double{pulls[3 * i]} * bodies[4 * i + 3];
      EXPECT_NEAR(momentum, 0.0, 0.05);
    };
    const launch_config config = grid_1d(n, block, block * 16);
    t.run([&](stream_ref on) { run(on, config, code.kernel("attract"), b, pull, n, softening); },
          check);
  }
}

TEST_F(NBody, BodiesMove) {
  const int n = 501;
  std::vector<float> bodies = random_values<float>(4 * n, -1.0f, 1.0f, 1);
  std::vector<float> speeds = random_values<float>(3 * n, -1.0f, 1.0f, 2);
  const std::vector<float> pulls = random_values<float>(3 * n, -1.0f, 1.0f, 3);
  trial t{s};
  auto& b = t.array_of(bodies);
  auto& v = t.array_of(speeds);
  auto& p = t.array_of(pulls);
  for (int i = 0; i < n; ++i) {
    for (int axis = 0; axis < 3; ++axis) {
      float& speed = speeds[3 * i + axis];
      speed = std::fma(pulls[3 * i + axis], 0.1f, speed);
      bodies[4 * i + axis] = std::fma(speed, 0.1f, bodies[4 * i + axis]);
    }
  }
  t.run([&](stream_ref on) { run(on, grid_1d(n, 192), code.kernel("move"), b, v, p, n, 0.1f); },
        [&] {
          expect_equal(b.read(), bodies);  // the source calls fma explicitly
          expect_equal(v.read(), speeds);
        });
}

TEST_F(NBody, ClosePairsAreCounted) {
  const int n = 203;
  const std::vector<short> points = random_values<short>(3 * n, -500, 500);
  std::uint32_t expected = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < i; ++j) {
      int square = 0;
      for (int a = 0; a < 3; ++a)
        square += (points[3 * i + a] - points[3 * j + a]) * (points[3 * i + a] - points[3 * j + a]);
      expected += square < 300 * 300;
    }
  }
  for (const auto& [bx, by] : {std::pair{32u, 4u}, {11u, 13u}}) {
    trial t{s};
    auto& p = t.array_of(points);
    auto& count = t.zeros<std::uint32_t>(1);
    t.run(
        [&](stream_ref on) {
          run(on, grid_2d(n, n, bx, by), code.kernel("close_pairs"), p, n, 300 * 300, count);
        },
        [&] { expect_equal(count.read(), {expected}); });
  }
}

TEST_F(NBody, PointsAreAssignedToTheNearestCentre) {
  const int n = 1501;
  const int count = 7;
  const std::vector<float> points = random_integers<float>(2 * n, -1000, 1000, 1);
  const std::vector<float> places = random_integers<float>(2 * count, -1000, 1000, 2);
  std::vector<int> nearest(n), sizes(count);
  std::vector<float> sums(2 * count);
  for (int i = 0; i < n; ++i) {
    float distance = 3.4e38f;
    for (int c = 0; c < count; ++c) {
      const float x = points[2 * i] - places[2 * c];
      const float y = points[2 * i + 1] - places[2 * c + 1];
      if (x * x + y * y < distance) {
        distance = x * x + y * y;
        nearest[i] = c;
      }
    }
    ++sizes[nearest[i]];
    sums[2 * nearest[i]] += points[2 * i];
    sums[2 * nearest[i] + 1] += points[2 * i + 1];
  }
  const auto centres = code.global<float[32]>("centres");
  std::vector<float> table = places;
  table.resize(32);
  set(table, centres);
  trial t{s};
  auto& p = t.array_of(points);
  auto& near = t.zeros<int>(n);
  auto& sum = t.zeros<float>(2 * count);
  auto& size = t.zeros<int>(count);
  t.run(
      [&](stream_ref on) {
        run(on, grid_1d(n, 128), code.kernel("assign"), p, n, count, near, sum, size);
      },
      [&] {  // integers below 2^24
        expect_equal(near.read(), nearest);
        expect_within(0, sum.read(), sums);
        expect_equal(size.read(), sizes);
      });
}

}  // namespace
}  // namespace weir::test
