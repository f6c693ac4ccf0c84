// SPDX-License-Identifier: Apache-2.0
// stream_fork_test.cpp - work divided over several streams and joined again, in captures and
// outside.
#include <weir/device/context.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream_fork.hpp>

#include <atomic>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "api/capture/capture_fixture.hpp"
#include "support/errors.hpp"
#include "support/foreign_capture.hpp"
#include "support/gate.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::result_of;

class StreamFork : public test::capture_fixture {};

// Rule 122: the original stream is the first one.
TEST_F(StreamFork, TheOriginIsTheFirstStream) {
  stream_fork own{s, 3};
  ASSERT_EQ(own.size(), 3u);
  EXPECT_EQ(own[0], s);
  EXPECT_EQ(own.origin(), s);
  EXPECT_NE(own[1], own[2]);
  EXPECT_EQ(own[1].context(), s.context());
  const stream_fork given{s, {t}};
  EXPECT_EQ(given[1], t);
  EXPECT_EQ(std::vector(given.begin(), given.end()), (std::vector<stream_ref>{s, t}));
}

TEST_F(StreamFork, AForkNeedsTwoDifferentStreams) {
  const stream_pool pool{gpu};
  EXPECT_EQ(result_of([&] { stream_fork f(s, 1); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { stream_fork f(s, 0, pool); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { stream_fork f(s, std::initializer_list<stream_ref>{}); }),
            errc::invalid_value);
  EXPECT_EQ(result_of([&] { stream_fork f(s, {t, s}); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { stream_fork f(s, {t, t}); }), errc::invalid_value);
  EXPECT_EQ(pool.count().leased, 0u);
}

TEST_F(StreamFork, BranchesFollowTheOriginAndTheJoinFollowsTheBranches) {
  std::atomic<int> before{0}, beside{0}, seen_beside{0}, seen_after{0};
  test::gate held{s};
  launch_host(s, [&] { before = 1; });
  stream_fork f{s, 3};
  for (std::size_t i = 1; i < f.size(); ++i) {
    launch_host(f[i], [&] {
      seen_beside += before;
      ++beside;
    });
  }
  f.join();
  launch_host(s, [&] { seen_after = beside.load(); });
  held.open();
  s.sync();
  EXPECT_EQ(seen_beside, 2);
  EXPECT_EQ(seen_after, 2);
}

// Rule 122: the join releases the other streams.
TEST_F(StreamFork, TheJoinReleasesTheBranches) {
  const stream_pool pool{gpu, {.limit = 2}};
  stream_fork f{s, 3, pool};
  EXPECT_EQ(pool.count().leased, 2u);
  EXPECT_EQ(result_of([&] { stream_fork more(s, 2, pool); }), errc::exhausted);
  EXPECT_FALSE(f.joined());
  f.join();
  EXPECT_TRUE(f.joined());
  EXPECT_EQ(f.size(), 1u);
  EXPECT_EQ(f[0], s);
  const auto gone = failure_of([&] { static_cast<void>(f[1]); });
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->result(), errc::invalid_value);
  EXPECT_TRUE(message_contains(*gone, "after the join")) << gone->what();
  EXPECT_EQ(pool.count().leased, 0u);
  f.join();
}

TEST_F(StreamFork, ACaptureIsForkedAndJoined) {
  const graph g = capture(s, [&](capture_scope& scope) {
    fill(scope, x, 1);
    stream_fork f{scope, 3};
    for (const stream_ref each : f) fill(each, each == s ? x : y, 2);
    f.join();
    fill(scope, x, 3);
  });
  EXPECT_EQ(g.node_count(), 5u);
  EXPECT_EQ(g.roots().size(), 1u);
  EXPECT_EQ(g.nodes().back().dependencies().size(), 3u);
  g.instantiate().launch(s);
  EXPECT_EQ(first_element(), 3);
}

// The destructor joins, so the capture ends without an error.
TEST_F(StreamFork, TheDestructorJoins) {
  const graph g = capture(s, [&] {
    const stream_fork f{s, {t}};
    fill(t, y, 2);
  });
  EXPECT_EQ(g.node_count(), 1u);
  expect_not_capturing();
}

TEST_F(StreamFork, AnExceptionJoinsTheFork) {
  const graph g = capture(s, [&] {
    EXPECT_THROW(
        {
          const stream_fork f(s, 2);
          fill(f[1], y, 2);
          throw std::runtime_error{"the body's"};
        },
        std::runtime_error);
    fill(s, x, 1);
  });
  EXPECT_EQ(g.node_count(), 2u);
  EXPECT_EQ(g.edges().size(), 1u);
}

TEST_F(StreamFork, ForksNest) {
  const graph g = capture(s, [&] {
    stream_fork outer{s, 2};
    stream_fork inner{outer[1], 2};
    fill(inner[1], y, 1);
    inner.join();
    fill(outer[1], y, 2);
    outer.join();
  });
  EXPECT_EQ(g.node_count(), 2u);
  EXPECT_EQ(g.edges().size(), 1u);
}

// A wait between streams of two captures would break both.
TEST_F(StreamFork, AStreamOfAnotherCaptureIsRefusedAndBothCapturesStayValid) {
  test::foreign_capture other{t};
  const graph g = capture(s, [&] {
    fill(s, x, 1);
    const stream third{gpu};
    const auto refused = failure_of([&] { stream_fork f(s, {third.ref(), t.ref()}); });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->result(), errc::illegal_state);
    EXPECT_TRUE(message_contains(*refused, "takes part in another capture")) << refused->what();
    EXPECT_EQ(capture_status_of(third), capture_status::none) << "nothing was queued";
  });
  EXPECT_EQ(g.node_count(), 1u);
  EXPECT_TRUE(other.end());
}

TEST_F(StreamFork, TheJoinIsRefusedInACaptureBegunAfterTheFork) {
  stream_fork f{s, {t}};
  const graph g = capture(s, [&] {
    fill(s, x, 1);
    const auto refused = failure_of([&] { f.join(); });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->result(), errc::illegal_state);
    EXPECT_FALSE(f.joined());
  });
  EXPECT_EQ(g.node_count(), 1u);
  f.join();
  EXPECT_TRUE(f.joined());
}

TEST_F(StreamFork, ABrokenCaptureRefusesForksAndReportsItsFailure) {
  const test::unhandled_errors unhandled;
  const auto failure = failure_of([&] {
    static_cast<void>(capture(s, [&] {
      const stream_fork f{s, {t}};
      EXPECT_NE(detail::driver().cuStreamQuery(s.get()), abi::CUDA_SUCCESS);
      EXPECT_EQ(result_of([&] { stream_fork more(s, 2); }), errc::stream_capture_invalidated);
    }));
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::stream_capture_invalidated);
  EXPECT_EQ(unhandled.count(), 0u) << "the end of the capture has reported it";
  expect_not_capturing();
}

TEST_F(StreamFork, HostFunctionsMayNotFork) {
  errc answer = errc::success;
  launch_host(s, [&] { answer = result_of([&] { stream_fork f(t, 2); }); });
  s.sync();
  EXPECT_EQ(answer, errc::not_permitted);
}

}  // namespace
}  // namespace weir
