// SPDX-License-Identifier: Apache-2.0
// cellular_test.cpp - kernels that are cellular automata.
#include <cstdint>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

using cells = std::vector<std::uint8_t>;

cells next_generation(const cells& from, int width, int height) {
  cells to(from.size());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      int neighbours = 0;
      for (int k = 0; k < 9; ++k) {
        if (k != 4)
          neighbours +=
              from[(y + k / 3 - 1 + height) % height * width + (x + k % 3 - 1 + width) % width];
      }
      to[y * width + x] = neighbours == 3 || (neighbours == 2 && from[y * width + x] != 0) ? 1 : 0;
    }
  }
  return to;
}

class Cellular : public kernel_fixture {
 protected:
  const module& code = kernel_module("cellular");
};

TEST_F(Cellular, GameOfLifeStepsGenerations) {
  const kernel live = code.kernel("live");
  const int width = 75;
  const int height = 51;
  const cells start = random_values<std::uint8_t>(width * height, 0, 1);
  cells expected = start;
  for (int generation = 0; generation < 4; ++generation)
    expected = next_generation(expected, width, height);
  for (const auto& [bx, by] : {std::pair{32u, 8u}, {10u, 10u}}) {
    trial t{s};
    auto& a = t.array_of(start);
    auto& b = t.zeros<std::uint8_t>(start.size());
    t.run(
        [&](stream_ref on) {
          for (int pair = 0; pair < 2; ++pair) {
            run(on, grid_2d(width, height, bx, by), live, a, b, width, height);
            run(on, grid_2d(width, height, bx, by), live, b, a, width, height);
          }
        },
        [&] { expect_equal(a.read(), expected); });
  }
}

TEST_F(Cellular, GameOfLifeStepsInOneBlock) {
  const kernel live = code.kernel("live_in_a_block<24>");
  const int generations = 9;
  const cells start = random_values<std::uint8_t>(24 * 24, 0, 1);
  cells expected = start;
  for (int generation = 0; generation < generations; ++generation)
    expected = next_generation(expected, 24, 24);
  for (const unsigned block : {1u, 100u, 576u}) {
    trial t{s};
    auto& world = t.array_of(start);
    t.run([&](stream_ref on) { run(on, {.block = {block}}, live, world, generations); },
          [&] { expect_equal(world.read(), expected); });
  }
}

TEST_F(Cellular, ElementaryAutomataStepRowsOfBits) {
  const kernel step = code.kernel("step_words");
  const int words = 37;
  const auto start = random_values<std::uint32_t>(words, 0, UINT32_MAX);
  for (const unsigned rule : {30u, 110u, 184u}) {
    const int count = 32 * words;
    std::vector<int> row(count);
    for (int i = 0; i < count; ++i) row[i] = static_cast<int>(start[i / 32] >> (i % 32) & 1);
    for (int generation = 0; generation < 6; ++generation) {
      std::vector<int> next(count);
      for (int i = 0; i < count; ++i) {
        const int pattern = 4 * row[(i + count - 1) % count] + 2 * row[i] + row[(i + 1) % count];
        next[i] = static_cast<int>(rule >> pattern & 1);
      }
      row = next;
    }
    std::vector<std::uint32_t> expected(words);
    for (int i = 0; i < count; ++i)
      expected[i / 32] |= static_cast<std::uint32_t>(row[i]) << (i % 32);
    trial t{s};
    auto& a = t.array_of(start);
    auto& b = t.zeros<std::uint32_t>(words);
    t.run(
        [&](stream_ref on) {
          for (int pair = 0; pair < 3; ++pair) {
            run(on, grid_1d(words, 32), step, a, b, words, rule);
            run(on, grid_1d(words, 7), step, b, a, words, rule);
          }
        },
        [&] { expect_equal(a.read(), expected); });
  }
}

TEST_F(Cellular, FireSpreadsInAForest) {
  const kernel burn = code.kernel("burn");
  const int width = 45;
  const int height = 33;
  const int steps = 6;
  cells wood = random_values<std::uint8_t>(width * height, 0, 9);
  for (auto& cell : wood) cell = cell == 9 ? 2 : cell < 7 ? 1 : 0;
  cells expected = wood;
  int burning = 0;
  for (int step = 0; step < steps; ++step) {
    cells next(expected.size());
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        const int i = y * width + x;
        if (expected[i] != 1) continue;
        const bool catches =
            (x > 0 && expected[i - 1] == 2) || (x + 1 < width && expected[i + 1] == 2) ||
            (y > 0 && expected[i - width] == 2) || (y + 1 < height && expected[i + width] == 2);
        next[i] = catches ? 2 : 1;
        burning += catches ? 1 : 0;
      }
    }
    expected = next;
  }
  for (const auto& [bx, by] : {std::pair{16u, 8u}, {45u, 1u}}) {
    trial t{s};
    auto& a = t.array_of(wood);
    auto& b = t.zeros<std::uint8_t>(wood.size());
    auto& count = t.zeros<int>(1);
    t.run(
        [&](stream_ref on) {
          for (int step = 0; step < steps; step += 2) {
            run(on, grid_2d(width, height, bx, by), burn, a, b, width, height, count);
            run(on, grid_2d(width, height, bx, by), burn, b, a, width, height, count);
          }
        },
        [&] {
          expect_equal(a.read(), expected);
          expect_equal(count.read(), {burning});
        });
  }
}

}  // namespace
}  // namespace weir::test
