// question_pace_test.cpp - how often is asked, by who is seen to call.
#include "reactor/question_pace.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace weir::detail {
namespace {

question_pace beside(callers_seen others) {
  question_pace pace;
  static_cast<void>(pace.see(others));
  return pace;
}

TEST(QuestionPace, OneThatIsAloneAsksQuickly) {
  const question_pace alone;
  EXPECT_FALSE(alone.others_call());
  EXPECT_EQ(alone.shortest_rest(1), 0);
  EXPECT_EQ(alone.rest(0, 1), 0);
  EXPECT_EQ(alone.rest(6'400, 1), 100);
  EXPECT_EQ(alone.rest(10'000'000, 1), 1'000);
}

TEST(QuestionPace, BesideOthersItAsksRarely) {
  const question_pace pace = beside(callers_seen::surely);
  EXPECT_TRUE(pace.others_call());
  EXPECT_EQ(pace.shortest_rest(1), 24'000);
  EXPECT_EQ(pace.rest(0, 1), 24'000);
  EXPECT_EQ(pace.rest(60'000, 1), 30'000);
  EXPECT_EQ(pace.rest(10'000'000, 1), 48'000);
}

TEST(QuestionPace, ManyQuestionsInARowAreFollowedByALongRest) {
  const question_pace alone;
  EXPECT_EQ(alone.rest(64'000, 32), 1'000);
  EXPECT_EQ(alone.rest(10'000'000, 32), 16'000);
  const question_pace pace = beside(callers_seen::surely);
  EXPECT_EQ(pace.shortest_rest(2), 64'000);
  EXPECT_EQ(pace.rest(0, 2), 64'000);
  EXPECT_EQ(pace.rest(10'000'000, 2), 64'000);
  EXPECT_EQ(pace.rest(0, 20), 64'000);
  EXPECT_EQ(pace.rest(200'000, 20), 100'000);
  EXPECT_EQ(pace.rest(10'000'000, 10), 240'000);
  EXPECT_EQ(pace.rest(10'000'000, 1'000), 250'000);
}

TEST(QuestionPace, ASuspicionIsLittleToWaitFor) {
  const question_pace pace = beside(callers_seen::perhaps);
  EXPECT_FALSE(pace.others_call());
  EXPECT_EQ(pace.rest(0, 1), 5'000);
  EXPECT_EQ(pace.rest(10'000'000, 1), 5'000);
  EXPECT_EQ(pace.rest(0, 20), 15'000);
  EXPECT_EQ(pace.shortest_rest(1), 0);
}

TEST(QuestionPace, WhereOthersHaveEndedItAsksQuicklyAgain) {
  question_pace pace;
  EXPECT_FALSE(pace.see(callers_seen::none));
  EXPECT_TRUE(pace.see(callers_seen::surely));
  EXPECT_FALSE(pace.see(callers_seen::surely));
  EXPECT_TRUE(pace.see(callers_seen::none));
  EXPECT_EQ(pace.rest(0, 1), 0);
}

RC_GTEST_PROP(QuestionPace, TheEndIsNeverNoticedFarTooLate, ()) {
  const auto elapsed = *rc::gen::inRange(0LL, 1'000'000'000LL);
  const auto questions = *rc::gen::inRange(1LL, 1'000LL);
  const auto seen = *rc::gen::element(callers_seen::none, callers_seen::perhaps, callers_seen::surely);
  const long long rest = beside(seen).rest(elapsed, questions);
  RC_ASSERT(rest >= 0);
  const long long shortest = questions == 1 ? 24'000 : 64'000;
  RC_ASSERT(rest <= std::max(shortest, elapsed / 2));
  RC_ASSERT(rest <= std::min(std::max({shortest, 48'000LL, questions * 24'000}), 250'000LL));
}

}  // namespace
}  // namespace weir::detail
