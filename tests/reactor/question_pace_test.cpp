// question_pace_test.cpp - how long questions take says whether to ask rarely.
#include "reactor/question_pace.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace weir::detail {
namespace {

// Nanoseconds of a question, as an H200's driver takes.
constexpr long long quick = 180;
constexpr long long fetched = 290;  // after another thread's call

// A thread that asks, at its own pace; time passes for it alone.
class asker {
 public:
  // Rests and asks for so long. Are there trials, their first question takes that long.
  void ask(long long first, long long time, long long others = quick) {
    for (const long long end = now_ + time; now_ < end;) {
      const long long rest = pace.rest(elapsed, now_, 1);
      now_ += rest;
      const bool is_trial = pace.begins_trial(rest, now_, 1);
      now_ += first;
      if (is_trial) pace.judge(first, others);
    }
  }
  [[nodiscard]] long long rest(long long after, long long questions = 1) {
    static_cast<void>(pace.begins_trial(1'000, now_, 1));  // the next is far away
    return pace.rest(after, now_, questions);
  }

  void pause(long long time) { now_ += time; }
  void ask_beside_others() { ask(fetched, 200'000); }

  question_pace pace;
  long long elapsed = 0;

 private:
  long long now_ = 1'000'000'000;
};

TEST(QuestionPace, OneThatIsAloneAsksQuickly) {
  asker one;
  one.ask(quick, 1'000'000);
  EXPECT_FALSE(one.pace.others_call());
  EXPECT_EQ(one.pace.shortest_rest(1), 0);
  EXPECT_EQ(one.rest(0), 0);
  EXPECT_EQ(one.rest(6'400), 100);
  EXPECT_EQ(one.rest(10'000'000), 1'000);
}

TEST(QuestionPace, BesideOthersItAsksRarely) {
  asker one;
  one.ask_beside_others();
  EXPECT_TRUE(one.pace.others_call());
  EXPECT_EQ(one.pace.shortest_rest(1), 24'000);
  EXPECT_EQ(one.rest(0), 24'000);
  EXPECT_EQ(one.rest(60'000), 30'000);
  EXPECT_EQ(one.rest(10'000'000), 48'000);
}

TEST(QuestionPace, ManyQuestionsInARowAreFollowedByALongRest) {
  asker alone;
  alone.ask(quick, 100'000);
  EXPECT_EQ(alone.rest(64'000, 32), 1'000);
  EXPECT_EQ(alone.rest(10'000'000, 32), 16'000);
  asker one;
  one.ask_beside_others();
  EXPECT_EQ(one.pace.shortest_rest(2), 64'000);
  EXPECT_EQ(one.rest(0, 2), 64'000);
  EXPECT_EQ(one.rest(10'000'000, 2), 64'000);
  EXPECT_EQ(one.rest(0, 20), 64'000);
  EXPECT_EQ(one.rest(200'000, 20), 100'000);
  EXPECT_EQ(one.rest(10'000'000, 10), 240'000);
  EXPECT_EQ(one.rest(10'000'000, 1'000), 250'000);
}

// A thread that queues work and then waits for it calls the driver a quarter of the time.
TEST(QuestionPace, AFewCallsOfOthersAreNone) {
  asker one;
  for (int i = 0; i < 1000; ++i) {
    one.ask(fetched, 8'000);
    EXPECT_FALSE(one.pace.others_call());
    one.ask(quick, 24'000);
  }
}

TEST(QuestionPace, AProcessorThatIsSlowIsNoOtherThread) {
  asker one;
  one.ask(2 * quick, 1'000'000, 2 * quick);
  EXPECT_FALSE(one.pace.others_call());
}

TEST(QuestionPace, AFirstQuestionThatTakesALittleLongerMeansNothing) {
  asker one;
  one.ask(quick * 7 / 5, 10'000'000);
  EXPECT_FALSE(one.pace.others_call());
}

TEST(QuestionPace, WhereOthersHaveEndedItSoonAsksQuicklyAgain) {
  asker one;
  one.ask_beside_others();
  one.ask(quick, 450'000);
  EXPECT_FALSE(one.pace.others_call());
}

TEST(QuestionPace, WhoHasNotAskedForLongBeginsQuickly) {
  asker one;
  one.ask_beside_others();
  one.pause(10'000'000);
  one.ask(fetched, 20'000);
  EXPECT_FALSE(one.pace.others_call());
}

TEST(QuestionPace, AQuickAnswerNowAndThenChangesNothing) {
  asker one;
  one.ask_beside_others();
  for (int i = 0; i < 10; ++i) {
    one.ask(quick, 70'000);  // less than from one trial to the next
    EXPECT_TRUE(one.pace.others_call());
    one.ask(fetched, 800'000);
  }
}

TEST(QuestionPace, ATrialFollowsARestThatWasMeantForIt) {
  question_pace pace;
  EXPECT_EQ(pace.rest(0, 1'000'000, 1), 1'000);
  EXPECT_FALSE(pace.begins_trial(999, 1'000'999, 1));
  EXPECT_TRUE(pace.begins_trial(1'000, 1'001'000, 1));
  EXPECT_FALSE(pace.begins_trial(10'000, 1'011'000, 1));
}

TEST(QuestionPace, TrialsTakeLittleOfTheTime) {
  question_pace pace;
  long long now = 1'000'000;
  for (const long long questions : {2, 20, 200}) {
    EXPECT_TRUE(pace.begins_trial(1'000, now, questions));
    now += 4'000 + questions * 500;
    EXPECT_EQ(pace.rest(0, now - 1, questions), 0);
    EXPECT_FALSE(pace.begins_trial(1'000, now + 999, questions));
    EXPECT_EQ(pace.rest(0, now, questions), 1'000);
    now += 1'000;
  }
}

// Who is seen to call need not be found out.
TEST(QuestionPace, BesideThoseWhoAreSeenThereAreNoTrials) {
  question_pace pace;
  constexpr long long now = 1'000'000;
  EXPECT_TRUE(pace.see(callers_seen::perhaps));
  EXPECT_FALSE(pace.others_call());
  EXPECT_EQ(pace.rest(0, now, 1), 5'000);
  EXPECT_EQ(pace.rest(0, now, 20), 15'000);
  EXPECT_EQ(pace.shortest_rest(1), 0);
  EXPECT_FALSE(pace.begins_trial(1'000, now, 1));
  EXPECT_TRUE(pace.see(callers_seen::surely));
  EXPECT_FALSE(pace.see(callers_seen::surely));
  EXPECT_TRUE(pace.others_call());
  EXPECT_EQ(pace.rest(0, now, 1), 24'000);
  EXPECT_FALSE(pace.begins_trial(24'000, now, 1));
  EXPECT_TRUE(pace.see(callers_seen::none));
  EXPECT_EQ(pace.rest(0, now, 1), 1'000);
  EXPECT_TRUE(pace.begins_trial(1'000, now, 1));
}

// They are found and then seen as well, perhaps: what was found stays, and the rest is as long.
TEST(QuestionPace, ASuspicionChangesNothingOfWhatWasFound) {
  asker one;
  one.ask_beside_others();
  static_cast<void>(one.pace.see(callers_seen::perhaps));
  EXPECT_TRUE(one.pace.others_call());
  EXPECT_EQ(one.pace.rest(0, 2'000'000'000, 1), 24'000);
}

using trials = std::vector<std::tuple<unsigned, unsigned>>;

RC_GTEST_PROP(QuestionPace, TheEndIsNeverNoticedFarTooLate, (const trials& all)) {
  const auto elapsed = *rc::gen::inRange(0LL, 1'000'000'000LL);
  const auto questions = *rc::gen::inRange(1LL, 1'000LL);
  const auto seen = *rc::gen::element(callers_seen::none, callers_seen::perhaps, callers_seen::surely);
  question_pace pace;
  for (const auto& [first, others] : all) pace.judge(first, others);
  static_cast<void>(pace.see(seen));
  constexpr long long now = 1'000'000;
  static_cast<void>(pace.begins_trial(1'000, now, questions));
  const long long rest = pace.rest(elapsed, now, questions);
  RC_ASSERT(rest >= 0);
  const long long shortest = questions == 1 ? 24'000 : 64'000;
  RC_ASSERT(rest <= std::max(shortest, elapsed / 2));
  RC_ASSERT(rest <= std::min(std::max({shortest, 48'000LL, questions * 24'000}), 250'000LL));
}

}  // namespace
}  // namespace weir::detail
