// SPDX-License-Identifier: Apache-2.0
// graph_cache_test.cpp - a graph cache with failing driver calls: the work is done once, or it is
// not done and the error is thrown.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/graph/graph_cache.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"
#include "support/errors.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using test::call_counts_of;
using test::driver_function;
using test::driver_table;
using test::expect_no_leaks;
using test::failure_of;
using test::fault_table;
using test::for_each_call;
using test::result_of;
using test::unhandled_errors;

class GraphCacheFaults : public ::testing::Test {
 protected:
  using cache_of_ints = graph_cache<int>;

  GraphCacheFaults() {
    cache_of_ints any;  // from now on the stream's context is cached
    use(any, 1, 1);
    static_cast<void>(take_count());
  }

  // Adds `times` to the count, with one operation for each increment.
  cache_use use(cache_of_ints& cache, unsigned long long version, int times) {
    return cache.run(s, 1, version, [&](cache_scope& scope) {
      for (int i = 0; i < times; ++i) launch_host(scope.stream(), [count = count] { ++*count; });
      scope.keep(count);
    });
  }
  [[nodiscard]] int take_count() {
    s.sync();
    return std::exchange(*count, 0);
  }

  // `prepare` brings a cache into a state in which use(cache, version, times) returns `expected`.
  // Then each driver call of such a use fails once, each time with a new cache.
  template <class Prepare>
  void every_call_of_a_use_may_fail(const Prepare& prepare, unsigned long long version, int times,
                                    cache_use expected) {
    std::vector<int> counts;
    {
      cache_of_ints cache;
      prepare(cache);
      static_cast<void>(take_count());
      const fault_table calls;
      EXPECT_EQ(use(cache, version, times), expected);
      counts = call_counts_of(calls);
    }
    EXPECT_EQ(take_count(), times);
    for_each_call(counts, [&](const driver_function& function, int nth) {
      one_call_fails(function, nth, prepare, version, times, expected);
    });
  }

  template <class Prepare>
  void one_call_fails(const driver_function& function, int nth, const Prepare& prepare,
                      unsigned long long version, int times, cache_use expected) {
    count = std::make_shared<int>(0);
    fault_table faults;
    std::optional<cache_of_ints> cache{std::in_place};
    prepare(*cache);
    static_cast<void>(take_count());
    const unhandled_errors unhandled;
    function.fail(faults, nth, abi::CUDA_ERROR_SYSTEM_NOT_READY);
    std::optional<cache_use> how;
    const auto failure = failure_of([&] { how = use(*cache, version, times); });
    const bool call_happened =
        function.count(faults) >= nth;  // otherwise a call of the reclaimer thread was counted
    EXPECT_EQ(capture_status_of(s), capture_status::none);
    EXPECT_EQ(take_count(), failure ? 0 : times);
    if (failure) {
      EXPECT_EQ(failure->result(), errc::system_not_ready);
    } else if (cache->last_failure()) {
      EXPECT_EQ(cache->last_failure()->result(), errc::system_not_ready);
      EXPECT_EQ(cache->counts().failed, 1u);
    }
    // Later uses succeed, and each does its work.
    for (int i = 0; i < 3; ++i) {
      use(*cache, version, times);
      EXPECT_EQ(take_count(), times);
    }
    EXPECT_EQ(use(*cache, version, times), cache_use::replayed);
    EXPECT_EQ(take_count(), times);
    const bool is_reported =
        failure || cache->last_failure() || unhandled.count() != 0 || how != expected;
    // A failed update has the effect of a refused one: the executable is reinstantiated.
    const bool makes_no_difference =
        expected == cache_use::reinstantiated && function.symbol == "cuGraphExecUpdate_v2";
    EXPECT_TRUE(is_reported || makes_no_difference || !call_happened)
        << "the failure was not reported";
    cache.reset();
    expect_no_leak(faults, function.symbol);
  }

  void expect_no_leak(const fault_table& calls, std::string_view failed) {
    EXPECT_EQ(calls.count(&driver_table::cuGraphInstantiateWithParams) -
                  (failed == "cuGraphInstantiateWithParams" ? 1 : 0),
              calls.count(&driver_table::cuGraphExecDestroy));
    drain_deferred();
    if (failed == "cuGraphDestroy" || failed == "cuGraphExecDestroy")
      return;  // the graph is leaked, with the objects that it keeps
    expect_no_leaks(calls, failed);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{60};
    while (count.use_count() != 1 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    EXPECT_EQ(count.use_count(), 1) << "the bodies' objects have been destroyed";
  }

  device gpu;
  stream s{gpu};
  std::shared_ptr<int> count = std::make_shared<int>(0);
};

TEST_F(GraphCacheFaults, AFirstUseRunsCompletelyOrNotAtAllIfACallFails) {
  every_call_of_a_use_may_fail([](cache_of_ints&) {}, 1, 3, cache_use::captured);
}

TEST_F(GraphCacheFaults, AReplayRunsCompletelyOrNotAtAllIfACallFails) {
  every_call_of_a_use_may_fail([&](cache_of_ints& cache) { use(cache, 1, 3); }, 1, 3,
                               cache_use::replayed);
}

TEST_F(GraphCacheFaults, AnUpdateRunsCompletelyOrNotAtAllIfACallFails) {
  every_call_of_a_use_may_fail([&](cache_of_ints& cache) { use(cache, 1, 3); }, 2, 3,
                               cache_use::updated);
}

TEST_F(GraphCacheFaults, AReinstantiationRunsCompletelyOrNotAtAllIfACallFails) {
  every_call_of_a_use_may_fail([&](cache_of_ints& cache) { use(cache, 1, 3); }, 2, 2,
                               cache_use::reinstantiated);
}

TEST_F(GraphCacheFaults, AGraphCacheUseFailsIfTheContextOfItsStreamIsUnknown) {
  const stream u{gpu};
  cache_of_ints cache;
  fault_table faults;
  faults.fail(&driver_table::cuCtxGetId, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  const auto body = [&](stream_ref in) { launch_host(in, [count = count] { ++*count; }); };
  EXPECT_EQ(result_of([&] { cache.run(u, 1, body); }), errc::system_not_ready);
  u.sync();
  EXPECT_EQ(take_count(), 0);
  EXPECT_EQ(cache.run(u, 1, body), cache_use::captured);
  u.sync();
  EXPECT_EQ(take_count(), 1);
}

TEST_F(GraphCacheFaults, AReplayMakesOneDriverCall) {
  cache_of_ints cache;
  use(cache, 1, 1);
  fault_table calls;
  for (int i = 0; i < 3; ++i) use(cache, 1, 1);
  EXPECT_EQ(calls.count(&driver_table::cuGraphLaunch), 3);
  EXPECT_EQ(calls.count_all(), 3);
}

// A failed launch is not repeated, because it is unknown what it queued. The executable is kept.
TEST_F(GraphCacheFaults, AFailedLaunchIsThrownAndNotRepeated) {
  cache_of_ints cache;
  {
    fault_table faults;
    faults.fail(&driver_table::cuGraphLaunch, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(result_of([&] { use(cache, 1, 1); }), errc::out_of_memory);
  }
  EXPECT_EQ(take_count(), 0);
  EXPECT_EQ(use(cache, 1, 1), cache_use::replayed);
  EXPECT_EQ(take_count(), 1);
}

// Instantiation always fails, and each use still does its work.
TEST_F(GraphCacheFaults, EveryGraphCacheUseRunsEagerlyIfInstantiationAlwaysFails) {
  cache_of_ints cache;
  fault_table faults;
  faults.fail_from(&driver_table::cuGraphInstantiateWithParams, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
  for (int i = 0; i < 12; ++i) EXPECT_EQ(use(cache, 1, 1), cache_use::eager);
  EXPECT_EQ(take_count(), 12);
  EXPECT_EQ(cache.last_failure()->result(), errc::out_of_memory);
  EXPECT_EQ(cache.counts().failed, 4u);
}

}  // namespace
}  // namespace weir
