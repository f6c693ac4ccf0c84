// expected_end_test.cpp - little is asked before work can be expected to end, and hardly any end is noticed late for that.
#include "reactor/expected_end.hpp"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::detail {
namespace {

constexpr long long microsecond = 1'000;
constexpr long long between_questions = microsecond;  // where no reason is seen to wait
constexpr long long longest_rest = 16 * microsecond;
constexpr int enough = 128;  // waits

struct found {
  long long late;  // after the end
  int questions;
};

// What comes of one wait. The thread that asks does nothing else, but for `away` before the last question.
found wait_for(expected_end& expected, long long length, bool seen = true, long long away = 0) {
  static long long now = 0;
  const long long begun = now += 100;
  expected.begin(now, seen);
  for (int questions = 1;; ++questions) {
    if (now - begun >= length) {
      now += away;
      expected.note_end(now);
      return {now - begun - length, questions};
    }
    expected.note_pending(now);
    now = std::max(now + between_questions, expected.not_before());
  }
}

void learn(expected_end& expected, int waits, long long length) {
  for (int i = 0; i < waits; ++i) wait_for(expected, length);
}

TEST(ExpectedEnd, IsNotKnownAtFirst) {
  expected_end expected;
  for (int i = 0; i < enough; ++i) EXPECT_EQ(wait_for(expected, 100 * microsecond).questions, 101);
}

TEST(ExpectedEnd, OfManyWaitsThatWereAlikeNeedsFewQuestions) {
  expected_end expected;
  learn(expected, enough, 100 * microsecond);
  for (int i = 0; i < 1000; ++i) {
    const found what = wait_for(expected, 100 * microsecond + i % 10 * 300);
    EXPECT_LE(what.late, between_questions);
    EXPECT_LE(what.questions, 7 + 7 + 4);  // before, shortly before, and after the shortest
  }
}

TEST(ExpectedEnd, ThatComesSoonerIsNoticedALittleLateAndOnce) {
  for (const long long sooner : {0, 1, 10, 20, 50, 90}) {
    expected_end expected;
    learn(expected, 2 * enough, 100 * microsecond);
    EXPECT_LE(wait_for(expected, sooner * microsecond).late, longest_rest) << sooner;
    for (int i = 0; i < enough; ++i) {
      EXPECT_LE(wait_for(expected, sooner * microsecond).late, between_questions) << sooner;
      EXPECT_LE(wait_for(expected, 100 * microsecond).late, between_questions) << sooner;
    }
  }
}

TEST(ExpectedEnd, IsLearntAnewWhenWorkTakesLonger) {
  expected_end expected;
  learn(expected, 2 * enough, 20 * microsecond);
  EXPECT_GT(wait_for(expected, 200 * microsecond).questions, 150);
  learn(expected, 2 * enough, 200 * microsecond);
  EXPECT_LT(wait_for(expected, 200 * microsecond).questions, 40);
}

// A thread that was away does not know when the work began, or ended.
TEST(ExpectedEnd, IsLearntFromWhatWasSeen) {
  expected_end expected;
  learn(expected, 2 * enough, 100 * microsecond);
  const int usual = wait_for(expected, 100 * microsecond).questions;
  wait_for(expected, 10 * microsecond, false);
  EXPECT_EQ(wait_for(expected, 100 * microsecond).questions, usual);
  wait_for(expected, 96 * microsecond, true, 4 * microsecond);
  EXPECT_EQ(wait_for(expected, 100 * microsecond).questions, usual);
  EXPECT_EQ(wait_for(expected, 100 * microsecond, false).questions, 101);
  wait_for(expected, 10 * microsecond, true, 4 * microsecond);  // may have been sooner
  EXPECT_GT(wait_for(expected, 100 * microsecond).questions, 4 * usual);
}

// As of what converges.
TEST(ExpectedEnd, OfWorkThatBecomesShorterAndShorterIsSeldomNoticedLate) {
  expected_end expected;
  int waits = 0;
  int late = 0;
  for (int turn = 0; turn < 10; ++turn) {
    learn(expected, 300, 800 * microsecond);
    for (long long length = 800 * microsecond; length > 12 * microsecond; length -= length / 10) {
      ++waits;
      if (wait_for(expected, length).late > between_questions) ++late;
    }
  }
  EXPECT_LE(late, 10) << "of " << waits;
}

RC_GTEST_PROP(ExpectedEnd, FewAreNoticedLate, ()) {
  const auto percent = *rc::gen::inRange(0, 101);
  const auto shorter = *rc::gen::inRange(0LL, 300 * microsecond);
  const auto longer = *rc::gen::inRange(0LL, 300 * microsecond);
  const auto which = *rc::gen::container<std::vector<int>>(3000, rc::gen::resize(1000, rc::gen::inRange(0, 100)));
  const auto spread = *rc::gen::inRange(1LL, 20 * microsecond);
  expected_end expected;
  std::size_t late = 0;
  for (const int one : which) {
    const found what = wait_for(expected, (one < percent ? shorter : longer) + one * spread / 100);
    RC_ASSERT(what.late <= longest_rest);
    if (what.late > between_questions) ++late;
  }
  RC_ASSERT(late <= which.size() / 100);
}

}  // namespace
}  // namespace weir::detail
