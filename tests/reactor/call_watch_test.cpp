// call_watch_test.cpp - who calls all the time is told from who calls when he has been told.
#include "reactor/call_watch.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace weir::detail {
namespace {

// A thread that looks once in 50 ns, and what others call meanwhile.
class looker {
 public:
  void call() { called_ = true; }
  void tell() { watch.told(now_); }

  // Somebody calls once in so long, or never where it is none.
  void look(long long time, long long between_calls = 0) {
    for (const long long end = now_ + time; now_ < end; now_ += 50) {
      if (between_calls != 0 && now_ % between_calls == 0) call();
      if (watch.look(called_, now_)) {
        called_ = false;
        ++rounds;
      }
    }
  }
  void be_away(long long time) { now_ += time; }

  call_watch watch;
  int rounds = 0;

 private:
  long long now_ = 1'000'000'000;
  bool called_ = false;
};

constexpr long long launch = 2'500;

TEST(CallWatch, SeesWhoCallsAllTheTime) {
  looker one;
  one.look(50'000, launch);
  EXPECT_EQ(one.watch.seen(), callers_seen::surely);
}

TEST(CallWatch, SuspectsHimAtHisFirstCallAfterAWhile) {
  looker one;
  one.tell();
  one.look(8'000, launch);
  EXPECT_EQ(one.watch.seen(), callers_seen::none);
  one.look(3'000, launch);
  EXPECT_EQ(one.watch.seen(), callers_seen::perhaps);
  one.look(6'000);
  one.look(8'000);
  EXPECT_EQ(one.watch.seen(), callers_seen::none);
}

TEST(CallWatch, ATellingEndsASuspicion) {
  looker one;
  one.look(15'000, launch);
  ASSERT_EQ(one.watch.seen(), callers_seen::perhaps);
  one.tell();
  EXPECT_EQ(one.watch.seen(), callers_seen::none);
}

TEST(CallWatch, SeesNobodyWhereNobodyCalls) {
  looker one;
  one.look(10'000'000);
  EXPECT_EQ(one.watch.seen(), callers_seen::none);
}

TEST(CallWatch, SeesHimBetweenTellings) {
  looker one;
  for (int i = 0; i < 4; ++i) {
    one.look(50'000, launch);
    one.tell();
  }
  EXPECT_EQ(one.watch.seen(), callers_seen::surely);
}

// He queues the next work, which takes some calls, and waits again.
TEST(CallWatch, DoesNotTakeAnAnswerForIt) {
  looker one;
  for (const long long work : {10'000, 30'000, 60'000, 500'000}) {
    for (int i = 0; i < 100; ++i) {
      one.tell();
      one.look(20'000, launch);
      one.look(work);
      ASSERT_NE(one.watch.seen(), callers_seen::surely) << work;
    }
  }
}

// Where one of many is told every few microseconds, calls say nothing.
TEST(CallWatch, SaysNothingWhereTellingsFollowEachOther) {
  looker one;
  for (int i = 0; i < 1'000; ++i) {
    one.tell();
    one.look(7'000, launch);
  }
  EXPECT_EQ(one.watch.seen(), callers_seen::none);
}

TEST(CallWatch, SeesSoonThatHeHasCeased) {
  looker one;
  one.look(100'000, launch);
  ASSERT_EQ(one.watch.seen(), callers_seen::surely);
  one.look(72'000);
  EXPECT_EQ(one.watch.seen(), callers_seen::none);
}

TEST(CallWatch, LeavesHimAloneForLongerOnceItIsSure) {
  looker one;
  one.look(100'000, launch);
  one.rounds = 0;
  one.look(1'200'000, launch);
  EXPECT_GE(one.rounds, 20);
  EXPECT_LE(one.rounds, 26);
  EXPECT_EQ(one.watch.seen(), callers_seen::surely);
}

TEST(CallWatch, ForgetsWhatWasLongAgo) {
  looker one;
  one.look(100'000, launch);
  ASSERT_EQ(one.watch.seen(), callers_seen::surely);
  one.be_away(2'000'000);
  one.look(100);
  EXPECT_EQ(one.watch.seen(), callers_seen::none);
}

// Where everybody is told at once nobody looks at the rounds.
TEST(CallWatch, ForgetsAlsoWhereItIsOnlyTold) {
  looker one;
  one.look(100'000, launch);
  ASSERT_EQ(one.watch.seen(), callers_seen::surely);
  for (int i = 0; i < 100; ++i) {
    one.be_away(16'000);
    one.tell();
  }
  EXPECT_EQ(one.watch.seen(), callers_seen::none);
}

// The thread had no processor, or was in the program's code: the round was too long to say anything.
TEST(CallWatch, DoesNotCountARoundThatItMissed) {
  looker one;
  for (int i = 0; i < 20; ++i) {
    one.look(100);
    one.call();
    one.be_away(100'000);
  }
  EXPECT_EQ(one.watch.seen(), callers_seen::none);
}

RC_GTEST_PROP(CallWatch, SeesNobodyWithoutCalls, (const std::vector<bool>& tellings)) {
  looker one;
  for (const bool tells : tellings) {
    if (tells) one.tell();
    one.look(9'000);
    RC_ASSERT(one.watch.seen() == callers_seen::none);
  }
}

}  // namespace
}  // namespace weir::detail
