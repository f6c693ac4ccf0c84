// SPDX-License-Identifier: Apache-2.0
// shapes_test.cpp - kernels in grids and blocks of every shape.
#include <algorithm>
#include <cstdint>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

using u32 = std::uint32_t;

class Shapes : public kernel_fixture {
 protected:
  const module& code = kernel_module("shapes");
};

TEST_F(Shapes, EveryThreadRunsOnce) {
  struct shape {
    kernel_extent grid, block;
  };
  for (const auto& [grid, block] :
       {shape{{1}, {1}}, shape{{7}, {33}}, shape{{3, 5}, {4, 7}}, shape{{2, 3, 4}, {5, 3, 2}},
        shape{{1, 1, 9}, {1, 1, 64}}, shape{{2, 1, 1}, {2, 256, 2}}}) {
    std::vector<u32> expected;
    for (u32 bz = 0; bz < grid.z; ++bz) {
      for (u32 by = 0; by < grid.y; ++by) {
        for (u32 bx = 0; bx < grid.x; ++bx) {
          u32 lane = 0;
          for (u32 tz = 0; tz < block.z; ++tz) {
            for (u32 ty = 0; ty < block.y; ++ty) {
              for (u32 tx = 0; tx < block.x; ++tx, ++lane) {
                expected.insert(expected.end(),
                                {bx << 16 | tx, by << 16 | ty, bz << 16 | tz, lane % 32});
              }
            }
          }
        }
      }
    }
    trial t{s};
    auto& told = t.zeros<u32>(expected.size());
    auto& times = t.zeros<int>(expected.size() / 4);
    t.run(
        [&](stream_ref on) {
          run(on, {.grid = grid, .block = block}, code.kernel("places"), told, times);
        },
        [&] {
          expect_equal(told.read(), expected);
          expect_equal(times.read(), std::vector<int>(expected.size() / 4, 1));
        });
  }
}

TEST_F(Shapes, ThreadsLeaveEarly) {
  for (const unsigned warps : {1u, 3u, 8u}) {
    const unsigned blocks = 4;
    std::vector<int> expected;
    for (unsigned block = 0; block < blocks; ++block) {
      for (unsigned warp = 0; warp < warps; ++warp) {
        expected.push_back(static_cast<int>(warp == 0 ? 0 : 32 * (warp + 1)));
      }
    }
    trial t{s};
    auto& order = t.zeros<int>(expected.size());
    t.run(
        [&](stream_ref on) {
          run(on, {.grid = {blocks}, .block = {32 * warps}}, code.kernel("leave_early"), order);
        },
        [&] { expect_equal(order.read(), expected); });
  }
}

TEST_F(Shapes, SharedMemoryIsDividedByTheKernel) {
  const int n = 707;
  const std::vector<double> x = random_values<double>(n, -1.0, 1.0);
  for (const unsigned block : {32u, 100u, 128u}) {
    std::vector<double> expected = x;
    for (std::size_t i = 0; i < expected.size(); i += block) {
      std::sort(
          expected.begin() + static_cast<std::ptrdiff_t>(i),
          expected.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(i + block, n)));
    }
    trial t{s};
    auto& xs = t.array_of(x);
    auto& ys = t.zeros<double>(n);
    t.run(
        [&](stream_ref on) {
          run(on, grid_1d(n, block, block * 10), code.kernel("carve"), xs, ys, n);
        },
        [&] { expect_equal(ys.read(), expected); });
  }
}

TEST_F(Shapes, ThreadsHaveLocalMemory) {
  std::vector<int> expected;
  for (unsigned i = 0; i < 150; ++i) expected.push_back((2 << (i % 50 % 8)) - 1);
  trial t{s};
  auto& moves = t.zeros<int>(150);
  t.run([&](stream_ref on) { run(on, {.grid = {3}, .block = {50}}, code.kernel("towers"), moves); },
        [&] { expect_equal(moves.read(), expected); });
}

TEST_F(Shapes, ThreadsAllocateOnTheHeap) {
  const int n = 205;
  const std::vector<int> sizes = random_values<int>(n, 1, 200);
  std::vector<long long> expected;
  for (int i = 0; i < n; ++i)
    expected.push_back(static_cast<long long>(i) * sizes[i] * (sizes[i] - 1) / 2);
  trial t{s};
  auto& in = t.array_of(sizes);
  auto& sums = t.zeros<long long>(n);
  t.run([&](stream_ref on) { run(on, grid_1d(n, 64), code.kernel("on_the_heap"), in, sums, n); },
        [&] { expect_equal(sums.read(), expected); });
}

TEST_F(Shapes, PacketsArePassedBetweenThreads) {
  const int n = 307;
  const std::vector<int> in = random_values<int>(12 * n, -1000000, 1000000);
  std::vector<int> expected(in.size());
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k <= i % 12; ++k) expected[12 * i + k] = in[12 * i + k];
    expected[12 * i + 11] += in[12 * i] + in[12 * i + 1];
  }
  trial t{s};
  auto& from = t.array_of(in);
  auto& to = t.zeros<int>(in.size());
  auto& flags = t.zeros<int>(n);
  t.run(
      [&](stream_ref on) { run(on, grid_1d(n, 96), code.kernel("hand_over"), from, to, flags, n); },
      [&] {
        expect_equal(to.read(), expected);
        expect_equal(flags.read(), std::vector<int>(n, 1));
      });
}

TEST_F(Shapes, ClocksAdvance) {
  trial t{s};
  auto& went_on = t.zeros<int>(32);
  t.run([&](stream_ref on) { run(on, {.block = {32}}, code.kernel("clocks"), went_on); },
        [&] { expect_equal(went_on.read(), std::vector<int>(32, 1)); });
}

}  // namespace
}  // namespace weir::test
