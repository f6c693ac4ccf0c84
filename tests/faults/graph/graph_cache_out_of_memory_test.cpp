// SPDX-License-Identifier: Apache-2.0
// graph_cache_out_of_memory_test.cpp - uses of a graph cache without free memory: the work is done
// once or not at all.
#include <weir/capture/capture.hpp>
#include <weir/graph/graph_cache.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

#include <exception>
#include <memory>

#include <gtest/gtest.h>

#include "embedded/core/out_of_memory.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using embedded::out_of_memory;
using test::unhandled_errors;

class GraphCacheOutOfMemory : public ::testing::Test {
 protected:
  using cache_of_ints = graph_cache<int>;

  cache_use use(cache_of_ints& cache, unsigned long long version, int fills) {
    return cache.run(s, 1, version, [&](cache_scope& scope) {
      scope.keep(kept);
      for (int i = 0; i < fills; ++i) fill(scope, memory, ++value);
    });
  }

  // Makes each allocation of a use and all later ones fail in turn, until the use succeeds. After
  // each failure expects that nothing has run.
  template <class Prepare>
  void each_allocation_may_fail(const Prepare& prepare, unsigned long long version, int fills) {
    for (int after = 0;; ++after) {
      SCOPED_TRACE(testing::Message() << "after " << after);
      cache_of_ints cache;
      prepare(cache);
      s.sync();
      memory[0] = -1;
      const unhandled_errors unhandled;
      bool done = false;
      try {
        const out_of_memory now{after};
        static_cast<void>(use(cache, version, fills));
        done = true;
      } catch (const std::exception&) {
      }
      ASSERT_EQ(capture_status_of(s), capture_status::none);
      s.sync();
      EXPECT_EQ(memory[0], done ? value : -1);
      EXPECT_EQ(unhandled.count(), 0u);
      if (done) {
        EXPECT_GT(after, 0) << "the use allocates no memory";
        break;
      }
      ASSERT_LT(after, 1000);
      use(cache, version, fills);
      s.sync();
      EXPECT_EQ(memory[0], value) << "a later use does the work";
    }
  }

  device gpu;
  stream s{gpu};
  pinned_buffer<int> memory{1};
  int value = 0;
  std::shared_ptr<int> kept = std::make_shared<int>();
};

TEST_F(GraphCacheOutOfMemory, AFirstUseRunsCompletelyOrNotAtAllIfAnAllocationFails) {
  each_allocation_may_fail([](cache_of_ints&) {}, 1, 2);
}

TEST_F(GraphCacheOutOfMemory, AnotherVersionRunsCompletelyOrNotAtAllIfAnAllocationFails) {
  each_allocation_may_fail([&](cache_of_ints& cache) { use(cache, 1, 2); }, 2, 2);
  each_allocation_may_fail([&](cache_of_ints& cache) { use(cache, 1, 2); }, 2, 3);
}

}  // namespace
}  // namespace weir
