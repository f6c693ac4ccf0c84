// SPDX-License-Identifier: Apache-2.0
// graph_cache_failure_test.cpp - bodies that cannot be captured run eagerly, and their exceptions
// are passed on.
#include <weir/event/event.hpp>
#include <weir/graph/graph_cache.hpp>
#include <weir/memory/fill.hpp>

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
  // A body that makes a query which a capture refuses.
  auto querying_body(int value) {
    return [this, value](stream_ref in) {
      ++calls;
      fill(in, x, value);
      static_cast<void>(in.done());
    };
  }
};

// A failed attempt is followed by the next one 2, 3, 5 and 9 uses later.
TEST_F(GraphCacheFailure, ABodyThatCannotBeCapturedRunsEagerlyAndCaptureIsRetriedWithBackoff) {
  std::vector<int> attempts;
  for (int use = 1; use <= 20; ++use) {
    const auto before = cache.counts().failed;
    EXPECT_EQ(cache.run(s, 1, querying_body(use)), cache_use::eager);
    EXPECT_EQ(first_element(), use);
    if (cache.counts().failed != before) attempts.push_back(use);
  }
  EXPECT_EQ(attempts, (std::vector{1, 3, 6, 11, 20}));
  EXPECT_EQ(calls, 25) << "an attempt calls the body once more";
  ASSERT_TRUE(cache.last_failure());
  EXPECT_EQ(cache.last_failure()->result(), errc::stream_capture_unsupported);
  EXPECT_EQ(cache.run(s, 1, 1, fill_body(30)), cache_use::captured)
      << "another version is tried at once";
  EXPECT_EQ(first_element(), 30);
  EXPECT_EQ(cache.counts().eager, 20u);
}

TEST_F(GraphCacheFailure, InvalidatingAKeyRetriesItsCaptureAtOnce) {
  cache.run(s, 1, querying_body(1));
  cache.invalidate(1);
  EXPECT_EQ(cache.run(s, 1, fill_body(2)), cache_use::captured);
  EXPECT_EQ(first_element(), 2);
}

// If a new version cannot be captured, the previous version's executable is kept.
TEST_F(GraphCacheFailure, ABrokenCaptureRunsTheBodyEagerly) {
  cache.run(s, 1, 1, fill_body(1));
  EXPECT_EQ(cache.run(s, 1, 2, querying_body(2)), cache_use::eager);
  EXPECT_EQ(first_element(), 2);
  EXPECT_EQ(cache.run(s, 1, 1, fill_body(1)), cache_use::replayed);
  EXPECT_EQ(first_element(), 1);
}

TEST_F(GraphCacheFailure, ACaptureBrokenThroughTheDriverRunsTheBodyEagerly) {
  const auto body = [&](cache_scope& in) {
    fill(in, x, 4);
    if (in.capturing()) static_cast<void>(detail::driver().cuStreamQuery(in.stream().get()));
  };
  EXPECT_EQ(cache.run(s, 1, body), cache_use::eager);
  EXPECT_EQ(cache.last_failure()->result(), errc::stream_capture_invalidated);
  EXPECT_EQ(first_element(), 4);
  EXPECT_EQ(capture_status_of(s), capture_status::none);
}

TEST_F(GraphCacheFailure, AWaitForWorkOutsideTheCaptureIsNotCaptured) {
  const event outside = t.record();
  EXPECT_EQ(cache.run(s, 1,
                      [&](stream_ref in) {
                        in.wait(outside);
                        fill(in, x, 4);
                      }),
            cache_use::eager);
  EXPECT_EQ(first_element(), 4);
}

TEST_F(GraphCacheFailure, AnExceptionOfTheBodyIsRethrownAndNothingIsCachedOrQueued) {
  fill(s, x, 9);
  const auto failing = [&](stream_ref in) {
    fill(in, x, 1);
    throw std::runtime_error{"the body's"};
  };
  EXPECT_THROW(cache.run(s, 1, failing), std::runtime_error);
  EXPECT_EQ(cache.counts().size, 0u);
  EXPECT_EQ(first_element(), 9);
  EXPECT_EQ(cache.run(s, 1, fill_body(2)), cache_use::captured);
  EXPECT_THROW(cache.run(s, 1, 1, failing), std::runtime_error);
  EXPECT_EQ(cache.run(s, 1, fill_body(2)), cache_use::replayed) << "the earlier executable is kept";
  EXPECT_EQ(first_element(), 2);
}

// The body is not repeated eagerly either, as it would fail again.
TEST_F(GraphCacheFailure, ErrorsUnrelatedToCaptureAreThrownAndNotRetried) {
  fill(s, x, 9);
  buffer<int> small{s, 1};
  EXPECT_EQ(result_of([&] {
              cache.run(s, 1, [&](stream_ref in) {
                ++calls;
                fill(in, x, 1);
                copy(in, x, small);  // larger than the target
              });
            }),
            errc::invalid_value);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(cache.counts().size, 0u);
  EXPECT_EQ(first_element(), 9);
}

TEST_F(GraphCacheFailure, AnUnjoinedForkInTheBodyIsAnError) {
  const auto forking = [&](stream_ref in) {
    t.wait(in);
    fill(t, x, 3);
  };
  EXPECT_EQ(result_of([&] { cache.run(s, 1, forking); }), errc::stream_capture_unjoined);
  EXPECT_EQ(cache.counts().size, 0u);
  graph_cache<int> joining{{.capture = {.join_forks = true}}};
  EXPECT_EQ(joining.run(s, 1, forking), cache_use::captured);
  EXPECT_EQ(first_element(), 3);
}

// A body that ignores the error that broke the capture, and goes on.
TEST_F(GraphCacheFailure, TheLastFailureNamesTheCallThatBrokeTheCapture) {
  const event outside = t.record();
  cache.run(s, 1, [&](stream_ref in) {
    static_cast<void>(result_of([&] { in.wait(outside); }));
    fill(in, x, 1);
  });
  s.sync();
  const auto failure = cache.last_failure();
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->hint().find("was broken by cuStreamWaitEvent at"), std::string::npos)
      << failure->what();
}

}  // namespace
}  // namespace weir
