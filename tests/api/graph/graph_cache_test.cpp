// SPDX-License-Identifier: Apache-2.0
// graph_cache_test.cpp - work that is captured at its first use and then replayed; keys, versions,
// contexts.
#include <weir/device/context.hpp>
#include <weir/graph/graph_cache.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/host_function.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "graph_cache_fixture.hpp"
#include "support/created_context.hpp"
#include "support/errors.hpp"
#include "support/foreign_capture.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::gate;
using test::result_of;

class GraphCache : public test::graph_cache_fixture {};

TEST_F(GraphCache, TheFirstUseCapturesAndLaunchesAndLaterUsesReplay) {
  EXPECT_EQ(cache.run(s, 1, fill_body(5)), cache_use::captured);
  EXPECT_EQ(first_element(), 5) << "the first use also runs the work";
  for (int i = 0; i < 3; ++i) {
    fill(s, x, 0);
    EXPECT_EQ(cache.run(s, 1, fill_body(5)), cache_use::replayed);
    EXPECT_EQ(first_element(), 5);
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(cache.run(s, 2, fill_body(6)), cache_use::captured);
  EXPECT_EQ(first_element(), 6);
  EXPECT_EQ(cache.run(t, 1, fill_body(5)), cache_use::replayed)
      << "streams of one context share entries";
  t.sync();
  const graph_cache_counts counts = cache.counts();
  EXPECT_EQ(counts.captured, 2u);
  EXPECT_EQ(counts.replayed, 4u);
  EXPECT_EQ(counts.size, 2u);
  EXPECT_EQ(counts.eager + counts.failed + counts.updated + counts.reinstantiated +
                counts.recorded + counts.evicted,
            0u);
}

TEST_F(GraphCache, ABodyTakesTheScopeOrTheStreamOrNothing) {
  cache.run(s, 1, [&](cache_scope& scope) {
    EXPECT_TRUE(scope.capturing());
    EXPECT_EQ(scope.stream(), s.ref());
    fill(scope, x, 1);
  });
  EXPECT_EQ(first_element(), 1);
  cache.run(s, 2, [&] { fill(s, x, 2); });
  EXPECT_EQ(first_element(), 2);
  const auto body = [&](stream_ref in) { fill(in, x, 3); };
  cache.run(s, 3, 7, body);
  EXPECT_EQ(first_element(), 3);
}

TEST_F(GraphCache, ANewVersionIsCapturedAgainAndUpdatesTheExecutable) {
  cache.run(s, 1, 1, fill_body(1));
  gate held{s};
  cache.run(s, 1, 1, fill_body(1));
  copy(s, x, host);
  EXPECT_EQ(cache.run(s, 1, 2, fill_body(2)), cache_use::updated);
  held.open();
  s.sync();
  EXPECT_EQ(host[0], 1) << "a launch that is queued stays what it was";
  EXPECT_EQ(first_element(), 2);
  EXPECT_EQ(cache.run(s, 1, 3, two_fills_body(3)), cache_use::reinstantiated);
  EXPECT_EQ(first_element(), 3);
  fill(s, x, 0);
  EXPECT_EQ(cache.run(s, 1, 3, two_fills_body(3)), cache_use::replayed);
  EXPECT_EQ(first_element(), 3);
  EXPECT_EQ(calls, 3);
}

TEST_F(GraphCache, AnInvalidatedErasedOrClearedKeyIsCapturedAgain) {
  cache.run(s, 1, fill_body(1));
  cache.run(s, 2, fill_body(2));
  cache.invalidate(1);
  cache.invalidate(77);
  EXPECT_EQ(cache.run(s, 1, fill_body(3)), cache_use::updated);
  EXPECT_EQ(first_element(), 3);
  EXPECT_EQ(cache.run(s, 2, fill_body(2)), cache_use::replayed);
  cache.erase(1);
  EXPECT_EQ(cache.counts().size, 1u);
  EXPECT_EQ(cache.run(s, 1, fill_body(4)), cache_use::captured);
  EXPECT_EQ(first_element(), 4);
  cache.clear();
  EXPECT_EQ(cache.counts().size, 0u);
  EXPECT_EQ(cache.run(s, 2, fill_body(5)), cache_use::captured);
  EXPECT_EQ(first_element(), 5);
}

TEST_F(GraphCache, AUseInAnOpenCaptureIsRecordedIntoThatCapture) {
  cache.run(s, 1, fill_body(1));
  s.sync();
  const graph g = capture(s, [&] {
    EXPECT_EQ(cache.run(s, 1, fill_body(1)), cache_use::recorded);
    t.wait(s);
    EXPECT_EQ(cache.run(t, 2, fill_body(2)), cache_use::recorded);
    s.wait(t);
  });
  EXPECT_EQ(g.node_count(), 2u);
  EXPECT_EQ(cache.counts().recorded, 2u);
  EXPECT_EQ(cache.counts().size, 1u);
  g.instantiate().launch(s);
  EXPECT_EQ(first_element(), 2);
}

// On a stream that weir does not own, a capture started directly through the driver is detected at
// every use.
TEST_F(GraphCache, AForeignCaptureOfAForeignStreamIsDetected) {
  CUstream_st* const foreign = stream{gpu}.release();
  EXPECT_EQ(cache.run(foreign, 1, fill_body(1)), cache_use::captured);
  EXPECT_EQ(cache.run(foreign, 1, fill_body(1)), cache_use::replayed);
  test::foreign_capture past_weir{foreign};
  EXPECT_EQ(cache.run(foreign, 1, fill_body(1)), cache_use::recorded);
  EXPECT_EQ(graph::adopt(past_weir.take()).node_count(), 1u);
  stream::adopt(foreign).shutdown();
}

// On a stream that weir owns, a replay makes no query, so only the first use detects such a
// capture.
TEST_F(GraphCache, AForeignCaptureOfAWeirStreamIsDetectedAtTheFirstUse) {
  test::foreign_capture foreign{s};
  EXPECT_EQ(cache.run(s, 1, fill_body(1)), cache_use::recorded);
  EXPECT_EQ(graph::adopt(foreign.take()).node_count(), 1u);
  EXPECT_EQ(cache.counts().size, 0u);
}

// A body may use the cache itself; the nested use is recorded as a part of the body.
TEST_F(GraphCache, UsesOfACacheNest) {
  const auto outer = [&](stream_ref in) {
    EXPECT_EQ(cache.run(in, 2, fill_body(1)), cache_use::recorded);
    EXPECT_EQ(cache.run(in, 1, fill_body(2)), cache_use::recorded)
        << "also for the key that is being captured";
  };
  EXPECT_EQ(cache.run(s, 1, outer), cache_use::captured);
  EXPECT_EQ(first_element(), 2);
  EXPECT_EQ(cache.run(s, 1, outer), cache_use::replayed);
}

TEST_F(GraphCache, AKeyInvalidatedDuringItsCaptureIsCapturedAgain) {
  EXPECT_EQ(cache.run(s, 1,
                      [&](stream_ref in) {
                        fill(in, x, 1);
                        cache.invalidate(1);
                      }),
            cache_use::captured);
  EXPECT_EQ(first_element(), 1);
  EXPECT_EQ(cache.run(s, 1, fill_body(2)), cache_use::updated);
  EXPECT_EQ(cache.run(s, 2,
                      [&](stream_ref in) {
                        fill(in, x, 3);
                        cache.clear();
                      }),
            cache_use::captured);
  EXPECT_EQ(first_element(), 3);
  EXPECT_EQ(cache.counts().size, 0u);
  EXPECT_EQ(cache.run(s, 2, fill_body(4)), cache_use::captured);
}

TEST_F(GraphCache, TheLeastRecentlyUsedKeyIsEvictedAndItsLaunchesComplete) {
  graph_cache<int> small{{.capacity = 2}};
  gate held{s};
  small.run(s, 1, fill_body(1));
  copy(s, x, host);
  small.run(s, 2, fill_body(2));
  small.run(s, 1, fill_body(1));
  small.run(s, 3, fill_body(3));
  EXPECT_EQ(small.counts().evicted, 1u);
  EXPECT_EQ(small.counts().size, 2u);
  EXPECT_EQ(small.run(s, 1, fill_body(1)), cache_use::replayed);
  EXPECT_EQ(small.run(s, 2, fill_body(2)), cache_use::captured)
      << "the least recently used entry is evicted";
  EXPECT_EQ(small.run(s, 3, fill_body(3)), cache_use::captured);
  EXPECT_EQ(small.run(s, 2, fill_body(2)), cache_use::replayed);
  held.open();
  s.sync();
  EXPECT_EQ(host[0], 1);
  EXPECT_EQ(first_element(), 2);
}

TEST_F(GraphCache, ACacheMayEndBeforeItsLaunches) {
  gate held{s};
  {
    graph_cache<int> brief;
    brief.run(s, 1, fill_body(8));
  }
  copy(s, x, host);
  held.open();
  s.sync();
  EXPECT_EQ(host[0], 8);
}

TEST_F(GraphCache, EachContextHasItsOwnExecutable) {
  cache.run(s, 1, fill_body(1));
  {
    const test::created_context other{gpu};
    const stream u{context_ref{other}};
    pinned_buffer<int> y{1};
    const auto body = [&](stream_ref in) { launch_host(in, [to = y.data()] { *to = 6; }); };
    EXPECT_EQ(cache.run(u, 1, body), cache_use::captured);
    EXPECT_EQ(cache.run(u, 1, body), cache_use::replayed);
    u.sync();
    EXPECT_EQ(y[0], 6);
    EXPECT_EQ(cache.counts().size, 2u);
    EXPECT_EQ(cache.run(s, 1, fill_body(1)), cache_use::replayed);
    cache.erase(1);
    EXPECT_EQ(cache.counts().size, 0u) << "erase() covers all contexts";
  }
  EXPECT_EQ(cache.run(s, 1, fill_body(2)), cache_use::captured);
  EXPECT_EQ(first_element(), 2);
}

// Memory that the body allocates and frees belongs to the graph. Such a graph has one executable at
// a time.
TEST_F(GraphCache, ABodyMayAllocateMemory) {
  const auto body = [&](int value) {
    return [&, value](stream_ref in) {
      buffer<int> own{in, x.size()};
      fill(in, own, value);
      copy(in, own, x);
      own.close();
    };
  };
  EXPECT_EQ(cache.run(s, 1, 1, body(1)), cache_use::captured);
  EXPECT_EQ(cache.run(s, 1, 1, body(1)), cache_use::replayed);
  EXPECT_EQ(first_element(), 1);
  gate held{s};
  cache.run(s, 1, 1, body(1));
  const cache_use how = cache.run(s, 1, 2, body(2));
  EXPECT_TRUE(how == cache_use::updated || how == cache_use::reinstantiated);
  held.open();
  EXPECT_EQ(first_element(), 2);
  EXPECT_EQ(cache.run(s, 1, 2, body(2)), cache_use::replayed);
  EXPECT_EQ(first_element(), 2);
}

TEST_F(GraphCache, TheLegacyStreamRunsBodiesEagerlyAndReplaysExistingCaptures) {
  const context_scope current{gpu};
  EXPECT_EQ(cache.run(stream_ref::legacy(), 1, fill_body(1)), cache_use::eager);
  EXPECT_EQ(cache.run(stream_ref::per_thread(), 1, fill_body(2)), cache_use::captured);
  stream_ref::per_thread().sync();
  EXPECT_EQ(first_element(), 2);
  EXPECT_EQ(cache.run(stream_ref::legacy(), 1, fill_body(1)), cache_use::replayed);
  stream_ref::legacy().sync();
}

TEST_F(GraphCache, AnyTypeCanBeAKeyAndEqualHashesAreNotEqualKeys) {
  struct all_the_same {
    std::size_t operator()(const std::string&) const noexcept { return 3; }
  };
  graph_cache<std::string, all_the_same> named;
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(named.run(s, std::to_string(i), fill_body(i)), cache_use::captured);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(named.run(s, std::to_string(i), fill_body(-1)), cache_use::replayed);
    EXPECT_EQ(first_element(), i);
  }
  named.erase("7");
  EXPECT_EQ(named.counts().size, 19u);
  EXPECT_EQ(named.run(s, "6", fill_body(-1)), cache_use::replayed);
  EXPECT_EQ(named.run(s, "7", fill_body(7)), cache_use::captured);
}

// A key whose destructor calls a function.
struct calling_key {
  calling_key(int n, const std::function<void()>& called) : number{n}, on_end{called} {}
  calling_key(const calling_key&) = default;
  calling_key& operator=(const calling_key&) = delete;
  ~calling_key() {
    if (on_end) on_end();
  }
  friend bool operator==(const calling_key& a, const calling_key& b) {
    return a.number == b.number;
  }
  int number;
  const std::function<void()>& on_end;
};
struct calling_key_hash {
  std::size_t operator()(const calling_key& key) const noexcept {
    return static_cast<std::size_t>(key.number);
  }
};

TEST_F(GraphCache, TheDestructorOfAKeyMayUseTheCacheThatIsDestroyed) {
  std::function<void()> on_end;
  const std::function<void()> nothing;
  const calling_key searched{0, nothing};
  auto owner = std::make_unique<graph_cache<calling_key, calling_key_hash>>();
  graph_cache<calling_key, calling_key_hash>& ending = *owner;
  for (int i = 0; i != 2; ++i) ending.run(s, calling_key{i, on_end}, fill_body(i));
  s.sync();
  std::vector<std::size_t> sizes;
  on_end = [&] {
    sizes.push_back(ending.counts().size);
    ending.invalidate(searched);
    ending.erase(searched);
  };
  owner.reset();
  EXPECT_EQ(sizes, (std::vector<std::size_t>{0, 0}));
}

TEST_F(GraphCache, InvalidOptionsAndStreamsAreRefused) {
  EXPECT_EQ(result_of([] { const graph_cache<int> none{{.capacity = 0}}; }), errc::invalid_value);
  EXPECT_EQ(result_of([] {
              const graph_cache<int> none{{.capture = {.mode = static_cast<capture_mode>(9)}}};
            }),
            errc::invalid_value);
  EXPECT_EQ(result_of([] {
              const graph_cache<int> none{
                  {.instantiate = {.auto_free_on_launch = true, .device_launch = true}}};
            }),
            errc::invalid_value);
  stream gone{gpu};
  gone.close();
  EXPECT_EQ(result_of([&] { cache.run(gone, 1, fill_body(1)); }), errc::closed);
  cache.run(s, 1, fill_body(1));
  errc inside = errc::success;
  launch_host(s, [&] { inside = result_of([&] { cache.run(t, 1, fill_body(1)); }); });
  s.sync();
  EXPECT_EQ(inside, errc::not_permitted);
}

TEST_F(GraphCache, ACacheMovesWithItsExecutables) {
  cache.run(s, 1, fill_body(5));
  graph_cache<int> moved = std::move(cache);
  EXPECT_EQ(moved.run(s, 1, fill_body(5)), cache_use::replayed);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(result_of([&] { cache.run(s, 1, fill_body(5)); }), errc::closed);
  EXPECT_EQ(result_of([&] { cache.invalidate(1); }), errc::closed);
  EXPECT_EQ(cache.counts().size, 0u);
  EXPECT_FALSE(cache.last_failure());
  cache.clear();
  cache = graph_cache<int>{};
  EXPECT_EQ(cache.run(s, 1, fill_body(6)), cache_use::captured);
  cache = std::move(moved);
  EXPECT_EQ(cache.run(s, 1, fill_body(5)), cache_use::replayed);
  EXPECT_EQ(first_element(), 5);
  std::vector<graph_cache<int>> several(2);
  several.emplace_back();
  EXPECT_EQ(several[1].run(s, 1, fill_body(7)), cache_use::captured);
  EXPECT_EQ(first_element(), 7);
}

}  // namespace
}  // namespace weir
