// SPDX-License-Identifier: Apache-2.0
// graph_cache_threads_test.cpp - several threads use one cache: each use does its work once.
#include <weir/graph/graph_cache.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace weir {
namespace {

constexpr int threads = 4;
constexpr int uses = 200;
constexpr int shared_keys = 3;

TEST(GraphCacheThreads, EachUseRunsItsWorkOnce) {
  const device gpu;
  std::atomic<int> done[shared_keys] = {};
  std::atomic<int> asked[shared_keys] = {};
  {
    graph_cache<int> cache{{.capacity = 2}};  // fewer than shared_keys, so that entries are evicted
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
      all.emplace_back([&, t] {
        const stream s{gpu};
        for (int i = 0; i < uses; ++i) {
          const int key = (t + i) % shared_keys;
          const auto version = static_cast<unsigned long long>(i / 50);
          cache.run(s, key, version, [&done, key](cache_scope& scope) {
            launch_host(scope.stream(), [&done, key] { ++done[key]; });
            if (key == 2 && scope.capturing())
              static_cast<void>(scope.stream().done());  // cannot be captured
          });
          ++asked[key];
          if (i % 40 == 39) cache.invalidate(key);
          if (i % 64 == 63) cache.clear();
        }
        s.sync();
      });
    }
    for (std::thread& each : all) each.join();
    const graph_cache_counts counts = cache.counts();
    EXPECT_EQ(
        counts.replayed + counts.captured + counts.updated + counts.reinstantiated + counts.eager,
        static_cast<unsigned long long>(threads * uses));
    EXPECT_LE(counts.size, 2u);
  }
  for (int key = 0; key < shared_keys; ++key) EXPECT_EQ(done[key], asked[key]) << "key " << key;
}

}  // namespace
}  // namespace weir
