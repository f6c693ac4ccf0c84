// SPDX-License-Identifier: Apache-2.0
// sleep_predictor_test.cpp - for how long the reactor thread sleeps.
#include "reactor/sleep_predictor.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::detail {
namespace {

constexpr long long microsecond = 1'000;
constexpr long long millisecond = 1'000 * microsecond;

sleep_predictor after(const std::vector<long long>& waits) {
  sleep_predictor learnt;
  for (const long long waited : waits) learnt.record_wait(waited);
  return learnt;
}

// How late the end of work that takes `length` is noticed, and after how many polls.
struct notice {
  long long late;
  int looks;
};
notice find(const sleep_predictor& lengths, long long length, bool faults_are_reported) {
  long long now = 0;
  int looks = 0;
  for (; now < length; ++looks) now += lengths.next_sleep(now, faults_are_reported);
  return {now - length, looks};
}

TEST(SleepPredictor, TheNextSleepIsAQuarterOfTheElapsedTime) {
  const sleep_predictor lengths;
  EXPECT_EQ(lengths.next_sleep(0, true), 20 * microsecond);
  EXPECT_EQ(lengths.next_sleep(400 * microsecond, true), 100 * microsecond);
  EXPECT_EQ(lengths.next_sleep(8 * millisecond, true), 2 * millisecond);
  EXPECT_EQ(lengths.next_sleep(1'000 * millisecond, true), 3 * millisecond);
}

TEST(SleepPredictor, RegularWorkIsSleptThroughAndCheckedOftenNearItsEnd) {
  const sleep_predictor lengths =
      after({50 * millisecond, 51 * millisecond, 49 * millisecond, 50 * millisecond});
  EXPECT_EQ(lengths.next_sleep(0, true), 50 * millisecond / 128);
  EXPECT_EQ(lengths.next_sleep(3 * millisecond, true), 3 * millisecond);
  EXPECT_EQ(lengths.next_sleep(20 * millisecond, true), 50 * millisecond / 6);
  EXPECT_EQ(lengths.next_sleep(48 * millisecond, true), 50 * millisecond / 64);
  EXPECT_EQ(lengths.next_sleep(54 * millisecond, true), 3 * millisecond);
  const notice found = find(lengths, 50 * millisecond, true);
  EXPECT_LE(found.looks, 16);
  EXPECT_LE(found.late, 800 * microsecond);
}

TEST(SleepPredictor, IrregularWorkMakesNoPrediction) {
  const sleep_predictor never = after({50 * millisecond, 50 * millisecond, 50 * millisecond});
  EXPECT_EQ(never.next_sleep(0, true), 20 * microsecond);
  const sleep_predictor no_more =
      after({50 * millisecond, 50 * millisecond, 50 * millisecond, 50 * millisecond, millisecond});
  EXPECT_EQ(no_more.next_sleep(0, true), 20 * microsecond);
}

using lengths_of_waits = std::vector<unsigned>;

// Polling finds a fault within a millisecond, independent of the lengths of earlier waits.
RC_GTEST_PROP(SleepPredictor, SleepsAreShortWithoutFaultReports, (const lengths_of_waits& waits)) {
  sleep_predictor lengths;
  for (const unsigned waited : waits) lengths.record_wait(waited);
  const auto elapsed = *rc::gen::inRange(0LL, 10'000'000'000LL);
  RC_ASSERT(lengths.next_sleep(elapsed, false) <= poll_policy::max_sleep_without_fault_reports);
  RC_ASSERT(lengths.next_sleep(elapsed, false) >= 20 * microsecond);
}

// Holds also if the work was predicted to take longer.
RC_GTEST_PROP(SleepPredictor, TheEndOfWorkIsNoticedWithoutALongDelay, ()) {
  const auto usual = *rc::gen::inRange(0LL, 10'000 * millisecond);
  const auto length = *rc::gen::inRange(1LL, 1'000 * millisecond);
  const sleep_predictor lengths = after({usual, usual, usual, usual});
  RC_ASSERT(find(sleep_predictor{}, length, true).late <= std::max(20 * microsecond, length / 4));
  RC_ASSERT(find(lengths, length, true).late <=
            std::min(std::max({20 * microsecond, length, usual / 128}), 10 * millisecond));
}

}  // namespace
}  // namespace weir::detail
