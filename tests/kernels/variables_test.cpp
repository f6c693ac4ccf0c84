// SPDX-License-Identifier: Apache-2.0
// variables_test.cpp - kernels with variables of their module.
#include <algorithm>
#include <cstdint>
#include <numeric>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

class Variables : public kernel_fixture {
 protected:
  const module& code = kernel_module("variables");
};

TEST_F(Variables, CountersKeepTheirValueBetweenLaunches) {
  const auto counter = code.global<int>("counter");
  std::vector<int> value(1);
  copy(s, counter, value);
  s.sync();
  int known = value[0];
  EXPECT_EQ(known, 40);
  trial t{s};
  auto& before = t.zeros<int>(1);
  t.run([&](stream_ref on) { run(on, {.grid = {5}, .block = {32}}, code.kernel("count"), before); },
        [&] {
          EXPECT_GE(before.read()[0], known);  // other blocks may have run before
          EXPECT_LT(before.read()[0], known + 5);
          known += 5;
          copy(s, counter, value);
          s.sync();
          EXPECT_EQ(value[0], known);
        });
  set(std::vector{40}, counter);
}

TEST_F(Variables, KernelsReadTablesAndConstants) {
  const int n = 777;
  const std::vector<int> x = random_values<int>(n, -50, 50);
  const int primes[] = {2, 3, 5, 7, 11, 13};
  const auto scale = code.global<double>("scale");
  for (const double factor : {2.0, -0.5}) {
    set(std::vector{factor}, scale);
    std::vector<double> expected;
    for (const int v : x) {
      expected.push_back(factor * (v & 15) * (v & 15) + std::clamp(v, -10, 10) +
                         primes[static_cast<unsigned>(v) % 6]);
    }
    trial t{s};
    auto& xs = t.array_of(x);
    auto& ys = t.zeros<double>(n);
    t.run([&](stream_ref on) { run(on, grid_1d(n, 64), code.kernel("look_up"), xs, ys, n); },
          [&] { expect_within(0, ys.read(), expected); });
  }
}

TEST_F(Variables, SumsAccumulateAcrossLaunches) {
  const int n = 1501;
  const auto x = random_values<std::uint32_t>(n, 0, UINT32_MAX);
  std::vector<unsigned long long> expected(4);
  for (int i = 0; i < n; ++i) expected[i & 3] += 3ULL * x[i];
  for (const unsigned block : {32u, 250u}) {
    trial t{s};
    auto& xs = t.array_of(x);
    auto& sums = t.zeros<unsigned long long>(4);
    t.run(
        [&](stream_ref on) {
          for (int launch = 0; launch < 3; ++launch)
            run(on, grid_1d(n, block), code.kernel("add_up"), xs, n);
          run(on, {.block = {32}}, code.kernel("take_sums"), sums);
        },
        [&] { expect_equal(sums.read(), expected); });
  }
}

TEST_F(Variables, ArraysAreSetAndRead) {
  const auto weights = code.global<float[6]>("weights");
  ASSERT_EQ(weights.size(), 6u);
  std::vector<float> factors(6);
  copy(s, weights, factors);
  s.sync();
  expect_equal(factors, {0.5f, 1.0f, 1.5f, 2.0f, 2.5f, 3.0f});
  factors = {1, 2, 3, 4, 5, 6};
  set(factors, weights);
  const int n = 301;
  const std::vector<float> x = random_integers<float>(2 * n, -100, 100);
  std::vector<float> expected;
  for (int i = 0; i < n; ++i) {
    expected.push_back(x[2 * i] * factors[i % 3 * 2] + x[2 * i + 1] * factors[i % 3 * 2 + 1]);
  }
  trial t{s};
  auto& xs = t.array_of(x);
  auto& ys = t.zeros<float>(n);
  t.run([&](stream_ref on) { run(on, grid_1d(n, 96), code.kernel("weigh"), xs, ys, n); },
        [&] { expect_within(0, ys.read(), expected); });
  set(std::vector{0.5f, 1.0f, 1.5f, 2.0f, 2.5f, 3.0f}, weights);
}

TEST_F(Variables, TheHostUsesManagedVariables) {
  const auto shared = code.global<int[8]>("shared_with_host");
  int base = 0;
  trial t{s};
  t.run([&](stream_ref on) { run(on, {.block = {32}}, code.kernel("tell_host"), 1000); },
        [&] {
          for (int i = 0; i < 8; ++i) {
            EXPECT_EQ(shared.data()[i], 1000 + i);
            shared.data()[i] = --base;
          }
        });
}

TEST_F(Variables, KernelsCallThroughFunctionPointers) {
  const int n = 201;
  const std::vector<int> x = random_values<int>(n, -1000, 1000);
  std::vector<int> expected;
  for (int i = 0; i < n; ++i) expected.push_back((i % 2 == 0 ? 2 * x[i] : -x[i]) + 1);
  trial t{s};
  auto& xs = t.array_of(x);
  auto& ys = t.zeros<int>(n);
  t.run([&](stream_ref on) { run(on, grid_1d(n, 64), code.kernel("call"), xs, ys, n); },
        [&] { expect_equal(ys.read(), expected); });
}

}  // namespace
}  // namespace weir::test
