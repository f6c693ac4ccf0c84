// SPDX-License-Identifier: Apache-2.0
// graph_cache_keep_test.cpp - objects that a cache's body keeps live as long as the work may use
// them.
#include <weir/core/deferred.hpp>
#include <weir/graph/graph_cache.hpp>

#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "graph_cache_fixture.hpp"
#include "support/closure_probe.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::closure_probe;
using test::closure_stats;
using test::gate;
using test::is_destroyed_once;

class GraphCacheKeep : public test::graph_cache_fixture {
 protected:
  [[nodiscard]] auto keeping_body(const closure_stats& f, int value) {
    return [&, value](cache_scope& scope) {
      fill(scope, x, value);
      scope.keep(closure_probe{f});
    };
  }
};

TEST_F(GraphCacheKeep, AKeptObjectLivesUntilItsEntryAndItsLaunchesAreGone) {
  closure_stats f;
  cache.run(s, 1, keeping_body(f, 1));
  s.sync();
  drain_deferred();
  EXPECT_EQ(f.destructions, 0);
  {
    gate held{s};
    EXPECT_EQ(cache.run(s, 1, keeping_body(f, 1)), cache_use::replayed);
    cache.erase(1);
    drain_deferred();
    EXPECT_EQ(f.destructions, 0) << "a launch needs it";
  }
  s.sync();
  EXPECT_TRUE(is_destroyed_once(f));
}

TEST_F(GraphCacheKeep, ANewVersionReplacesTheKeptObject) {
  closure_stats before;
  closure_stats now;
  cache.run(s, 1, 1, keeping_body(before, 1));
  cache.run(s, 1, 2, keeping_body(now, 2));
  s.sync();
  EXPECT_TRUE(is_destroyed_once(before));
  EXPECT_EQ(now.destructions, 0);
  cache.clear();
  EXPECT_TRUE(is_destroyed_once(now));
}

TEST_F(GraphCacheKeep, AnEagerRunKeepsTheObjectUntilItsWorkIsDone) {
  closure_stats f;
  int asked = 0;
  {
    gate held{s};
    EXPECT_EQ(cache.run(s, 1,
                        [&](cache_scope& scope) {
                          fill(scope, x, 1);
                          if (scope.capturing()) scope.stream().sync();
                          scope.keep(closure_probe{f});
                          ++asked;
                        }),
              cache_use::eager);
    EXPECT_EQ(f.destructions, 0) << "the work is still pending";
  }
  s.sync();
  EXPECT_TRUE(is_destroyed_once(f));
  EXPECT_EQ(f.destructions_in_host_functions, 0);
  EXPECT_EQ(asked, 1);
}

TEST_F(GraphCacheKeep, AnOpenCaptureGivesTheKeptObjectToItsGraph) {
  closure_stats f;
  std::optional<graph> g = capture(s, [&] { cache.run(s, 1, keeping_body(f, 1)); });
  drain_deferred();
  EXPECT_EQ(f.destructions, 0);
  g.reset();
  EXPECT_TRUE(is_destroyed_once(f));
}

// Objects that a failed attempt has kept are destroyed.
TEST_F(GraphCacheKeep, ABrokenCaptureReleasesItsKeptObjects) {
  closure_stats f;
  int runs = 0;
  cache.run(s, 1, [&](cache_scope& scope) {
    if (++runs == 1) scope.keep(closure_probe{f});
    if (scope.capturing()) scope.stream().sync();
  });
  EXPECT_EQ(runs, 2);
  EXPECT_TRUE(is_destroyed_once(f));
}

}  // namespace
}  // namespace weir
