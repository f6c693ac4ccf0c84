// SPDX-License-Identifier: Apache-2.0
// clusters_test.cpp - kernels whose blocks form clusters.
#include <cstdint>

#include "kernels/harness/kernel_fixture.hpp"

namespace weir::test {
namespace {

class Clusters : public kernel_fixture {
 protected:
  void SetUp() override {
    if (gpu.compute_capability().major < 9) GTEST_SKIP() << "the device has no clusters";
  }
};

TEST_F(Clusters, BlocksOfAClusterShareAHistogram) {
  const kernel count = kernel_module("clusters").kernel("count_in_clusters");
  const int of_cluster = 1003;
  const unsigned clusters = 3;
  const auto x = random_values<std::uint8_t>(of_cluster * clusters, 0, 255);
  for (const unsigned size : {1u, 2u, 8u}) {
    const unsigned bins = 16 * size;
    std::vector<std::uint32_t> expected(clusters * bins);
    for (std::size_t i = 0; i < x.size(); ++i) ++expected[i / of_cluster * bins + x[i] % bins];
    for (const unsigned block : {32u, 100u}) {
      trial t{s};
      auto& xs = t.array_of(x);
      auto& counts = t.zeros<std::uint32_t>(expected.size());
      const launch_config config{
          .grid = {clusters * size}, .block = {block}, .cluster = {size, 1, 1}};
      t.run([&](stream_ref on) { run(on, config, count, xs, of_cluster, counts); },
            [&] { expect_equal(counts.read(), expected); });
    }
  }
}

TEST_F(Clusters, BlocksOfAClusterPassNumbersOn) {
  const kernel pass_on = kernel_module("clusters").kernel("pass_on");
  const int rounds = 6;
  for (const unsigned block : {1u, 48u}) {
    const unsigned n = 8 * block;
    const std::vector<int> x = random_values<int>(n, -1000, 1000);
    std::vector<int> expected(n);
    for (unsigned i = 0; i < n; ++i) {
      const unsigned rank = i / block;
      const unsigned to = rank / 4 * 4 + (rank + rounds) % 4;
      expected[to * block + i % block] = x[i] + rounds;
    }
    trial t{s};
    auto& xs = t.array_of(x);
    auto& ys = t.zeros<int>(n);
    const launch_config config{.grid = {8}, .block = {block}, .shared_bytes = block * 4};
    t.run([&](stream_ref on) { run(on, config, pass_on, xs, ys, rounds); },
          [&] { expect_equal(ys.read(), expected); });
  }
}

}  // namespace
}  // namespace weir::test
