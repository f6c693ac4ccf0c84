// SPDX-License-Identifier: Apache-2.0
// stop_test.cpp - awaits that a stop token ends.
#include <weir/completion/completion.hpp>
#include <weir/completion/stop.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/when.hpp>
#include <weir/stream/stream.hpp>

#include <chrono>
#include <future>
#include <optional>
#include <stop_token>
#include <thread>

#include <gtest/gtest.h>

#include "support/completion_modes.hpp"
#include "support/detached.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::detached;
using test::gate;
using namespace std::chrono_literals;

class Stop : public test::completion_modes {
 protected:
  stream t{gpu};
};
INSTANTIATE_TEST_SUITE_P(Ways, Stop, ::testing::Values(false, true), test::name_of_mode);

TEST_P(Stop, AStopEndsTheWaitAndNotTheWork) {
  gate held{s};
  const completion c = s.completion();
  std::stop_source source;
  const std::jthread stops{[&] { source.request_stop(); }};
  EXPECT_EQ(sync_wait(stop_when(c, source.get_token())), wait_status::stopped);
  EXPECT_EQ(sync_wait(stop_when(c, source.get_token())), wait_status::stopped);
  EXPECT_EQ(sync_wait(stop_when(c, std::stop_token{}, 1ms)), wait_status::timed_out);
  EXPECT_EQ(sync_wait(stop_when(when_all(c, c), source.get_token())), wait_status::stopped);
  EXPECT_EQ(sync_wait(stop_when(when_any(c, c), source.get_token())), std::nullopt);
  EXPECT_EQ(sync_wait(stop_when(when_any(c, c), std::stop_token{}, 1ms)), std::nullopt);
  held.open();
  EXPECT_EQ(sync_wait(stop_when(c, std::stop_token{})), wait_status::done);
  EXPECT_EQ(sync_wait(stop_when(c, source.get_token())), wait_status::done);
  EXPECT_EQ(sync_wait(stop_when(when_any(c, c), source.get_token())), 0U);
}

// If several of them have happened before the wait begins, the finished work takes precedence over
// the stop, and the stop over the deadline.
TEST_P(Stop, AnEarlierStopTakesPrecedenceOverAPassedDeadline) {
  gate held{s};
  const completion c = s.completion();
  std::stop_source source;
  EXPECT_EQ(sync_wait(stop_when(c, source.get_token(), 0s)), wait_status::timed_out);
  source.request_stop();
  EXPECT_EQ(sync_wait(stop_when(c, source.get_token(), 0s)), wait_status::stopped);
  EXPECT_EQ(sync_wait(stop_when(when_all(c, c), source.get_token(), -1s)), wait_status::stopped);
  held.open();
  c.wait();
  EXPECT_EQ(sync_wait(stop_when(c, source.get_token(), 0s)), wait_status::done);
}

// An awaitable is a value: each co_await begins a new wait.
TEST_P(Stop, AWaitWithADeadlineCanBeAwaitedAgain) {
  gate held{s};
  const completion c = s.completion();
  const auto soon = c.within(1ms);
  const auto either = when_any(c, t.completion()).within(1h);
  std::stop_source source;
  source.request_stop();
  const auto stops = stop_when(c, source.get_token());
  EXPECT_FALSE(sync_wait(soon));
  EXPECT_FALSE(sync_wait(soon));
  EXPECT_EQ(sync_wait(either), 1U);
  EXPECT_EQ(sync_wait(stops), wait_status::stopped);
  EXPECT_EQ(sync_wait(stops), wait_status::stopped);
  held.open();
  c.wait();
  EXPECT_TRUE(sync_wait(soon));
  EXPECT_EQ(sync_wait(either), 0U);
  EXPECT_EQ(sync_wait(stops), wait_status::done);
}

TEST_P(Stop, AStopRequestDoesNotResumeTheCoroutineInline) {
  gate held{s};
  std::stop_source source;
  std::promise<std::thread::id> resumed;
  [](completion c, std::stop_token token, std::promise<std::thread::id>& told) -> detached {
    static_cast<void>(co_await stop_when(c, token));
    told.set_value(std::this_thread::get_id());
  }(s.completion(), source.get_token(), resumed);
  source.request_stop();
  EXPECT_NE(resumed.get_future().get(), std::this_thread::get_id());
  held.open();
}

TEST_P(Stop, AStopMayRaceWithTheCompletionAndItsDeadline) {
  for (int i = 0; i < 200; ++i) {
    gate held{s};
    const completion c = s.completion();
    std::stop_source source;
    const std::jthread opens{[&] { held.open(); }};
    const std::jthread stops{[&] { source.request_stop(); }};
    static_cast<void>(sync_wait(
        stop_when(when_all(c, t.completion()), source.get_token(), std::chrono::microseconds{i})));
    static_cast<void>(sync_wait(stop_when(c, source.get_token())));
    c.wait();
  }
}

}  // namespace
}  // namespace weir
