// SPDX-License-Identifier: Apache-2.0
// poll_until_test.cpp - polling until an answer or a timeout.
#include "os/poll_until.hpp"

#include <weir/core/errc.hpp>
#include <weir/detail/duration.hpp>

#include <gtest/gtest.h>

#include "os/clock.hpp"

namespace weir::os {
namespace {

constexpr long long milliseconds = 1'000'000;

TEST(PollUntil, TheFirstAnswerEndsThePolling) {
  int polls = 0;
  const errc answer = poll_until(detail::forever, errc::not_ready, [&] {
    return ++polls == 100 ? errc::launch_failed : errc::not_ready;
  });
  EXPECT_EQ(answer, errc::launch_failed);
  EXPECT_EQ(polls, 100);
}

TEST(PollUntil, AnExpiredTimeoutPollsOnce) {
  for (const long long timeout : {0LL, -milliseconds}) {
    int polls = 0;
    const errc answer = poll_until(timeout, errc::not_ready, [&] {
      ++polls;
      return errc::not_ready;
    });
    EXPECT_EQ(answer, errc::not_ready);
    EXPECT_EQ(polls, 1);
  }
}

TEST(PollUntil, PollingDoesNotEndBeforeTheTimeout) {
  const long long begin = steady_nanoseconds();
  const bool still_pending = true;
  EXPECT_TRUE(poll_until(3 * milliseconds, still_pending, [] { return true; }));
  EXPECT_GE(steady_nanoseconds() - begin, 3 * milliseconds);
}

}  // namespace
}  // namespace weir::os
