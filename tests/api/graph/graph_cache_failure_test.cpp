// graph_cache_failure_test.cpp - bodies that cannot be captured run as they are; what they throw comes out.
#include <weir/event/event.hpp>
#include <weir/memory/fill.hpp>
#include <weir/graph/graph_cache.hpp>

#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "graph_cache_fixture.hpp"
#include "support/errors.hpp"

namespace weir {
namespace {

using test::result_of;

class GraphCacheFailure : public test::graph_cache_fixture {
 protected:
  // One that asks what a capture refuses.
  auto looking(int value) {
    return [this, value](stream_ref in) {
      ++calls;
      fill(in, x, value);
      static_cast<void>(in.done());
    };
  }
};

// Attempts are the first use, the second after that, then the third, the fifth, the ninth.
TEST_F(GraphCacheFailure, WhatACaptureRefusesRunsAsItIsAndIsTriedAgainLater) {
  std::vector<int> attempts;
  for (int use = 1; use <= 20; ++use) {
    const auto before = cache.counts().broken;
    EXPECT_EQ(cache.run(s, 1, looking(use)), cache_use::eager);
    EXPECT_EQ(first(), use);
    if (cache.counts().broken != before) attempts.push_back(use);
  }
  EXPECT_EQ(attempts, (std::vector{1, 3, 6, 11, 20}));
  EXPECT_EQ(calls, 25) << "an attempt calls the body once more";
  ASSERT_TRUE(cache.last_failure());
  EXPECT_EQ(cache.last_failure()->result(), errc::stream_capture_unsupported);
  EXPECT_EQ(cache.run(s, 1, 1, filling(30)), cache_use::captured) << "another version is tried at once";
  EXPECT_EQ(first(), 30);
  EXPECT_EQ(cache.counts().eager, 20u);
}

TEST_F(GraphCacheFailure, WhatIsInvalidatedIsTriedAtOnce) {
  cache.run(s, 1, looking(1));
  cache.invalidate(1);
  EXPECT_EQ(cache.run(s, 1, filling(2)), cache_use::captured);
  EXPECT_EQ(first(), 2);
}

// A version that cannot be captured leaves the executable of the one before.
TEST_F(GraphCacheFailure, ABrokenCaptureTakesNothingAway) {
  cache.run(s, 1, 1, filling(1));
  EXPECT_EQ(cache.run(s, 1, 2, looking(2)), cache_use::eager);
  EXPECT_EQ(first(), 2);
  EXPECT_EQ(cache.run(s, 1, 1, filling(1)), cache_use::replayed);
  EXPECT_EQ(first(), 1);
}

TEST_F(GraphCacheFailure, ACaptureThatIsBrokenPastWeirIsMadeUpFor) {
  const auto body = [&](cache_scope& in) {
    fill(in, x, 4);
    if (in.capturing()) static_cast<void>(detail::driver().cuStreamQuery(in.stream().get()));
  };
  EXPECT_EQ(cache.run(s, 1, body), cache_use::eager);
  EXPECT_EQ(cache.last_failure()->result(), errc::stream_capture_invalidated);
  EXPECT_EQ(first(), 4);
  EXPECT_EQ(capture_status_of(s), capture_status::none);
}

TEST_F(GraphCacheFailure, AWaitForWorkOutsideIsNoneOfAGraph) {
  const event outside = t.record();
  EXPECT_EQ(cache.run(s, 1,
                      [&](stream_ref in) {
                        in.wait(outside);
                        fill(in, x, 4);
                      }),
            cache_use::eager);
  EXPECT_EQ(first(), 4);
}

TEST_F(GraphCacheFailure, WhatTheBodyThrowsComesOutAndNothingIsCachedOrQueued) {
  fill(s, x, 9);
  const auto failing = [&](stream_ref in) {
    fill(in, x, 1);
    throw std::runtime_error{"the body's"};
  };
  EXPECT_THROW(cache.run(s, 1, failing), std::runtime_error);
  EXPECT_EQ(cache.counts().size, 0u);
  EXPECT_EQ(first(), 9);
  EXPECT_EQ(cache.run(s, 1, filling(2)), cache_use::captured);
  EXPECT_THROW(cache.run(s, 1, 1, failing), std::runtime_error);
  EXPECT_EQ(cache.run(s, 1, filling(2)), cache_use::replayed) << "what there was is still there";
  EXPECT_EQ(first(), 2);
}

// Nor is it made up for: it would fail again.
TEST_F(GraphCacheFailure, ErrorsThatHaveNothingToDoWithCapturesComeOut) {
  fill(s, x, 9);
  buffer<int> small{s, 1};
  EXPECT_EQ(result_of([&] {
              cache.run(s, 1, [&](stream_ref in) {
                ++calls;
                fill(in, x, 1);
                copy(in, x, small);  // more than fits
              });
            }),
            errc::invalid_value);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(cache.counts().size, 0u);
  EXPECT_EQ(first(), 9);
}

TEST_F(GraphCacheFailure, AForkThatIsNotJoinedIsAMistakeOfTheBody) {
  const auto forking = [&](stream_ref in) {
    t.wait(in);
    fill(t, x, 3);
  };
  EXPECT_EQ(result_of([&] { cache.run(s, 1, forking); }), errc::stream_capture_unjoined);
  EXPECT_EQ(cache.counts().size, 0u);
  graph_cache<int> joining{{.capture = {.join_forks = true}}};
  EXPECT_EQ(joining.run(s, 1, forking), cache_use::captured);
  EXPECT_EQ(first(), 3);
}

}  // namespace
}  // namespace weir
