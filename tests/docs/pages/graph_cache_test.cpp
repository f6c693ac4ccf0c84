// SPDX-License-Identifier: Apache-2.0
// graph_cache_test.cpp - the code that docs/guide/graph-cache.md shows.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <weir/weir.hpp>

namespace {

class GraphCachePage : public ::testing::Test {
 protected:
  void queue_step(weir::stream_ref in, int shape) { weir::fill(in, x, static_cast<float>(shape)); }
  [[nodiscard]] float first() {
    weir::copy(s, x, home);
    s.sync();
    return home[0];
  }

  weir::device gpu;
  weir::stream s{gpu};
  weir::buffer<float> x{s, 100};
  weir::pinned_buffer<float> home{100};
};

TEST_F(GraphCachePage, AnEqualShapeIsReplayed) {
  const int shapes[] = {1, 2, 1, 1};
  // [graph-cache-use]
  weir::graph_cache<int> steps;
  for (const int shape : shapes) {
    steps.run(s, shape, [&](weir::stream_ref in) {
      queue_step(in, shape);
    });  // the first use of a shape captures it
  }
  // [/graph-cache-use]
  EXPECT_EQ(first(), 1.0f);
  EXPECT_EQ(steps.counts().replayed, 2u);
}

TEST_F(GraphCachePage, ANewVersionUpdatesTheExecutable) {
  weir::graph_cache<int> steps;
  const int shape = 1;
  float rate = 0.5f;
  unsigned long long version = 1;
  const auto step = [&](weir::stream_ref in) { weir::fill(in, x, rate); };
  steps.run(s, shape, version, step);
  // [graph-cache-version]
  rate = 0.25f;
  ++version;                           // a number for all that the body depends on
  steps.run(s, shape, version, step);  // captured again; the executable is updated
  steps.run(s, shape, version, step);  // replayed
  // [/graph-cache-version]
  EXPECT_EQ(first(), 0.25f);
  // [graph-cache-invalidate]
  steps.invalidate(shape);  // or, without a number: the next use captures again
  // [/graph-cache-invalidate]
  EXPECT_EQ(steps.run(s, shape, version, step), weir::cache_use::updated);
}

TEST_F(GraphCachePage, AnEntryKeepsItsMemory) {
  weir::graph_cache<int> steps;
  const int shape = 1;
  auto weights = std::make_shared<weir::buffer<float>>(s, 100u);
  // [graph-cache-keep]
  steps.run(s, shape, [&](weir::cache_scope& scope) {
    weir::fill(scope, *weights, 1.0f);
    scope.keep(weights);  // as long as the work may need it, however it runs
  });
  // [/graph-cache-keep]
  EXPECT_EQ(weights.use_count(), 2);
}

TEST_F(GraphCachePage, ABodyAllocatesMemory) {
  weir::graph_cache<int> steps;
  const int shape = 1;
  const auto size = std::size_t{100};
  const auto use = [&] {
    // [graph-cache-memory]
    steps.run(s, shape, [&](weir::stream_ref in) {
      weir::buffer<float> own{in, size};
      weir::fill(in, own, 2.0f);
      weir::copy(in, own, x);
    });  // its free is a part of the graph, too
    // [/graph-cache-memory]
  };
  use();
  use();
  EXPECT_EQ(first(), 2.0f);
}

}  // namespace
