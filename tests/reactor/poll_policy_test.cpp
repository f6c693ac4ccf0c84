// SPDX-License-Identifier: Apache-2.0
// poll_policy_test.cpp - how often threads poll, how long they spin, and when they sleep.
#include "reactor/poll_policy.hpp"

#include <weir/completion/completion.hpp>
#include <weir/completion/reactor.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/stream.hpp>

#include <algorithm>
#include <future>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/completion_modes.hpp"
#include "support/gate.hpp"

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

// A thread that polls every 50 ns, and the calls of other threads meanwhile.
class poller {
 public:
  void call() { called_ = true; }
  void notify() { detector.record_notification(now_); }

  // Polls for `time`, while another thread calls once every `between_calls`; 0: never.
  void poll(long long time, long long between_calls = 0) {
    for (const long long end = now_ + time; now_ < end; now_ += 50) {
      if (between_calls != 0 && now_ % between_calls == 0) call();
      if (detector.update(called_, now_)) {
        called_ = false;
        ++rounds;
      }
    }
  }
  void pause(long long time) { now_ += time; }

  contention_detector detector;
  int rounds = 0;

 private:
  long long now_ = 1'000'000'000;
  bool called_ = false;
};

constexpr long long launch = 2'500;

TEST(ContentionDetector, AConstantCallerIsDetected) {
  poller poller_thread;
  poller_thread.poll(50'000, launch);
  EXPECT_EQ(poller_thread.detector.level(), contention::certain);
}

TEST(ContentionDetector, ACallAfterAPauseRaisesASuspicion) {
  poller poller_thread;
  poller_thread.notify();
  poller_thread.poll(8'000, launch);
  EXPECT_EQ(poller_thread.detector.level(), contention::none);
  poller_thread.poll(3'000, launch);
  EXPECT_EQ(poller_thread.detector.level(), contention::suspected);
  poller_thread.poll(6'000);
  poller_thread.poll(8'000);
  EXPECT_EQ(poller_thread.detector.level(), contention::none);
}

TEST(ContentionDetector, ANotificationEndsASuspicion) {
  poller poller_thread;
  poller_thread.poll(15'000, launch);
  ASSERT_EQ(poller_thread.detector.level(), contention::suspected);
  poller_thread.notify();
  EXPECT_EQ(poller_thread.detector.level(), contention::none);
}

TEST(ContentionDetector, NoCallerIsDetectedWithoutCalls) {
  poller poller_thread;
  poller_thread.poll(10'000'000);
  EXPECT_EQ(poller_thread.detector.level(), contention::none);
}

TEST(ContentionDetector, AConstantCallerIsDetectedBetweenNotifications) {
  poller poller_thread;
  for (int i = 0; i < 4; ++i) {
    poller_thread.poll(50'000, launch);
    poller_thread.notify();
  }
  EXPECT_EQ(poller_thread.detector.level(), contention::certain);
}

// The notified thread enqueues the next work with some calls, and waits again.
TEST(ContentionDetector, CallsRightAfterANotificationDoNotCountAsAConstantCaller) {
  poller poller_thread;
  for (const long long work : {10'000, 30'000, 60'000, 500'000}) {
    for (int i = 0; i < 100; ++i) {
      poller_thread.notify();
      poller_thread.poll(20'000, launch);
      poller_thread.poll(work);
      ASSERT_NE(poller_thread.detector.level(), contention::certain) << work;
    }
  }
}

// Calls prove nothing while one of many waiters is notified every few microseconds.
TEST(ContentionDetector, NoCallerIsDetectedWhileNotificationsFollowEachOther) {
  poller poller_thread;
  for (int i = 0; i < 1'000; ++i) {
    poller_thread.notify();
    poller_thread.poll(7'000, launch);
  }
  EXPECT_EQ(poller_thread.detector.level(), contention::none);
}

TEST(ContentionDetector, ACallerThatStoppedIsSoonForgotten) {
  poller poller_thread;
  poller_thread.poll(100'000, launch);
  ASSERT_EQ(poller_thread.detector.level(), contention::certain);
  poller_thread.poll(72'000);
  EXPECT_EQ(poller_thread.detector.level(), contention::none);
}

TEST(ContentionDetector, AConstantCallerIsCheckedInLongerRounds) {
  poller poller_thread;
  poller_thread.poll(100'000, launch);
  poller_thread.rounds = 0;
  poller_thread.poll(1'200'000, launch);
  EXPECT_GE(poller_thread.rounds, 20);
  EXPECT_LE(poller_thread.rounds, 26);
  EXPECT_EQ(poller_thread.detector.level(), contention::certain);
}

TEST(ContentionDetector, AnOldCallerIsForgotten) {
  poller poller_thread;
  poller_thread.poll(100'000, launch);
  ASSERT_EQ(poller_thread.detector.level(), contention::certain);
  poller_thread.pause(2'000'000);
  poller_thread.poll(100);
  EXPECT_EQ(poller_thread.detector.level(), contention::none);
}

// If every waiter is notified at once, update() is never called.
TEST(ContentionDetector, AnOldCallerIsForgottenAfterNotificationsAlone) {
  poller poller_thread;
  poller_thread.poll(100'000, launch);
  ASSERT_EQ(poller_thread.detector.level(), contention::certain);
  for (int i = 0; i < 100; ++i) {
    poller_thread.pause(16'000);
    poller_thread.notify();
  }
  EXPECT_EQ(poller_thread.detector.level(), contention::none);
}

// The thread was preempted or ran the program's code, so the round was too long to prove anything.
TEST(ContentionDetector, AMissedRoundIsNotCounted) {
  poller poller_thread;
  for (int i = 0; i < 20; ++i) {
    poller_thread.poll(100);
    poller_thread.call();
    poller_thread.pause(100'000);
  }
  EXPECT_EQ(poller_thread.detector.level(), contention::none);
}

RC_GTEST_PROP(ContentionDetector, NotificationsAloneNeverCountAsCalls,
              (const std::vector<bool>& tellings)) {
  poller poller_thread;
  for (const bool tells : tellings) {
    if (tells) poller_thread.notify();
    poller_thread.poll(9'000);
    RC_ASSERT(poller_thread.detector.level() == contention::none);
  }
}

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

namespace weir {
namespace {

using detail::contention;
using detail::with_external_callers;

TEST(ExternalCallers, ContentionIsCertainWhileExternalLaunchesAreExpected) {
  EXPECT_EQ(with_external_callers(contention::none), contention::none);
  EXPECT_EQ(with_external_callers(contention::suspected), contention::suspected);
  std::optional<expect_external_launches> first{std::in_place};
  EXPECT_EQ(with_external_callers(contention::none), contention::certain);
  std::optional<expect_external_launches> second;
  std::thread{[&] { second.emplace(); }}.join();
  first.reset();
  EXPECT_EQ(with_external_callers(contention::suspected), contention::certain);
  second.reset();
  EXPECT_EQ(with_external_callers(contention::none), contention::none);
  EXPECT_EQ(with_external_callers(contention::certain), contention::certain);
}

class ExternalCallersBeside : public test::completion_modes {};
INSTANTIATE_TEST_SUITE_P(Ways, ExternalCallersBeside, ::testing::Values(false, true),
                         test::name_of_mode);

// Waiters are notified at whatever time launches are announced.
TEST_P(ExternalCallersBeside, EveryWaitEndsWhileExternalLaunchesAreExpected) {
  for (int i = 0; i < 50; ++i) {
    std::optional<expect_external_launches> expected;
    if (i % 2 == 0) expected.emplace();
    test::gate held{s};
    std::promise<void> completed;
    s.completion().then([&] { completed.set_value(); });
    if (i % 3 == 0) {
      expected.reset();
    } else {
      expected.emplace();
    }
    held.open();
    completed.get_future().get();
  }
}

}  // namespace
}  // namespace weir
