// SPDX-License-Identifier: Apache-2.0
// spin_budget_test.cpp - for how long threads spin before they sleep.
#include "reactor/spin_budget.hpp"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::detail {
namespace {

constexpr long long shortest = 5'000;
constexpr long long longest = 10'000'000;

long long learnt_from(long long waited) {
  spin_budget budget;
  for (int i = 0; i < 1000; ++i) budget.record_wait(waited);
  return budget.nanoseconds();
}

RC_GTEST_PROP(SpinBudget, TheSpinBudgetStaysWithinItsLimits, ()) {
  const auto waits = *rc::gen::container<std::vector<long long>>(rc::gen::nonNegative<long long>());
  spin_budget budget;
  for (const long long waited : waits) {
    budget.record_wait(waited);
    RC_ASSERT(budget.nanoseconds() >= shortest);
    RC_ASSERT(budget.nanoseconds() <= longest);
  }
}

TEST(SpinBudget, TheSpinBudgetCoversShortWaits) {
  for (const long long waited : {4'000, 10'000, 50'000, 90'000}) {
    EXPECT_NEAR(static_cast<double>(learnt_from(waited)), static_cast<double>(2 * waited), 32.0)
        << waited;
  }
  EXPECT_GE(learnt_from(longest), longest - 4);
}

TEST(SpinBudget, TheSpinBudgetIsSmallForLongWaits) {
  EXPECT_LE(learnt_from(longest + 1), shortest + 4);
  EXPECT_LE(learnt_from(10'000'000'000), shortest + 4);
  EXPECT_LE(learnt_from(0), shortest + 32);
}

TEST(SpinBudget, TheSpinBudgetCoversTheLongerOfShortWaits) {
  for (const int shorter : {1, 10, 20}) {
    spin_budget budget;
    for (int i = 0; i < 1000; ++i) {
      budget.record_wait(i % (shorter + 1) == 0 ? 100'000 : 0);
      EXPECT_GE(budget.nanoseconds(), 100'000) << shorter << " of no time to one, after " << i;
    }
  }
}

TEST(SpinBudget, TheSpinBudgetSoonForgetsRareLongWaits) {
  spin_budget budget;
  for (int i = 0; i < 1000; ++i) {
    for (int k = 0; k < 9; ++k) budget.record_wait(10'000);
    EXPECT_LT(budget.nanoseconds(), 3'000'000);
    budget.record_wait(5'000'000);
  }
}

TEST(SpinBudget, RepeatedTimeoutsShrinkTheSpinBudget) {
  spin_budget budget;
  budget.record_wait(900'000);
  EXPECT_GT(budget.nanoseconds(), 500'000);
  for (int i = 0; i < 20; ++i) budget.record_timeout(500'000);
  EXPECT_LE(budget.nanoseconds(), 50'000);
}

TEST(SpinBudget, TimeoutsShorterThanASleepDoNotShrinkTheSpinBudget) {
  spin_budget budget;
  budget.record_wait(50'000);
  for (int i = 0; i < 20; ++i) budget.record_timeout(10'000);
  EXPECT_EQ(budget.nanoseconds(), 100'000);
}

TEST(SpinBudget, OneLongWaitDoesNotEmptyTheSpinBudget) {
  spin_budget budget;
  for (int i = 0; i < 100; ++i) budget.record_wait(50'000);
  budget.record_wait(1'000'000'000);
  EXPECT_GT(budget.nanoseconds(), 50'000);
  budget.record_wait(50'000);
  EXPECT_GT(budget.nanoseconds(), 70'000);
}

}  // namespace
}  // namespace weir::detail
