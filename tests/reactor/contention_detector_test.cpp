// SPDX-License-Identifier: Apache-2.0
// contention_detector_test.cpp - the detection of threads that call the driver all the time.
#include "reactor/contention_detector.hpp"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::detail {
namespace {

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

}  // namespace
}  // namespace weir::detail
