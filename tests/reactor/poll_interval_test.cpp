// SPDX-License-Identifier: Apache-2.0
// poll_interval_test.cpp - how often the reactor thread polls.
#include "reactor/poll_interval.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::detail {
namespace {

poll_interval beside(contention level) {
  poll_interval pace;
  static_cast<void>(pace.set_contention(level));
  return pace;
}

TEST(PollInterval, AReactorPollsOftenWithoutContention) {
  const poll_interval alone;
  EXPECT_FALSE(alone.is_contended());
  EXPECT_EQ(alone.min_delay(1), 0);
  EXPECT_EQ(alone.delay(0, 1), 0);
  EXPECT_EQ(alone.delay(6'400, 1), 100);
  EXPECT_EQ(alone.delay(10'000'000, 1), 1'000);
}

TEST(PollInterval, AReactorPollsRarelyUnderContention) {
  const poll_interval pace = beside(contention::certain);
  EXPECT_TRUE(pace.is_contended());
  EXPECT_EQ(pace.min_delay(1), 24'000);
  EXPECT_EQ(pace.delay(0, 1), 24'000);
  EXPECT_EQ(pace.delay(60'000, 1), 30'000);
  EXPECT_EQ(pace.delay(10'000'000, 1), 48'000);
}

TEST(PollInterval, ManyPollsInARowAreFollowedByALongPause) {
  const poll_interval alone;
  EXPECT_EQ(alone.delay(64'000, 32), 1'000);
  EXPECT_EQ(alone.delay(10'000'000, 32), 16'000);
  const poll_interval pace = beside(contention::certain);
  EXPECT_EQ(pace.min_delay(2), 64'000);
  EXPECT_EQ(pace.delay(0, 2), 64'000);
  EXPECT_EQ(pace.delay(10'000'000, 2), 64'000);
  EXPECT_EQ(pace.delay(0, 20), 64'000);
  EXPECT_EQ(pace.delay(200'000, 20), 100'000);
  EXPECT_EQ(pace.delay(10'000'000, 10), 240'000);
  EXPECT_EQ(pace.delay(10'000'000, 1'000), 250'000);
}

TEST(PollInterval, ASuspicionMakesThePollIntervalALittleLonger) {
  const poll_interval pace = beside(contention::suspected);
  EXPECT_FALSE(pace.is_contended());
  EXPECT_EQ(pace.delay(0, 1), 5'000);
  EXPECT_EQ(pace.delay(10'000'000, 1), 5'000);
  EXPECT_EQ(pace.delay(0, 20), 15'000);
  EXPECT_EQ(pace.min_delay(1), 0);
}

TEST(PollInterval, AReactorPollsOftenAgainAfterContention) {
  poll_interval pace;
  EXPECT_FALSE(pace.set_contention(contention::none));
  EXPECT_TRUE(pace.set_contention(contention::certain));
  EXPECT_FALSE(pace.set_contention(contention::certain));
  EXPECT_TRUE(pace.set_contention(contention::none));
  EXPECT_EQ(pace.delay(0, 1), 0);
}

RC_GTEST_PROP(PollInterval, ThePollIntervalStaysWithinItsLimits, ()) {
  const auto elapsed = *rc::gen::inRange(0LL, 1'000'000'000LL);
  const auto polls = *rc::gen::inRange(1LL, 1'000LL);
  const auto seen = *rc::gen::element(contention::none, contention::suspected, contention::certain);
  const long long delay = beside(seen).delay(elapsed, polls);
  RC_ASSERT(delay >= 0);
  const long long min_delay_now = polls == 1 ? 24'000 : 64'000;
  RC_ASSERT(delay <= std::max(min_delay_now, elapsed / 2));
  RC_ASSERT(delay <= std::min(std::max({min_delay_now, 48'000LL, polls * 24'000}), 250'000LL));
}

}  // namespace
}  // namespace weir::detail
