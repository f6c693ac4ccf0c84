// SPDX-License-Identifier: Apache-2.0
// completion_beside_poller_test.cpp - blocked threads that leave continuations to other threads
// which may run them.
#include <weir/completion/completion.hpp>
#include <weir/completion/reactor.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "support/completion_modes.hpp"
#include "support/detached.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::detached;
using test::gate;

struct resumption {
  std::thread::id where;
  std::atomic<bool> done{false};
};

detached await(completion c, resumption& result) {
  static_cast<void>(co_await c.outcome());
  result.where = std::this_thread::get_id();
  result.done = true;
}

void wait_for(const std::atomic<bool>& condition) {
  while (!condition) std::this_thread::yield();
}

// Gives pollers time to resume a continuation of finished work.
void give_time(const stream& s) {
  for (int i = 0; i < 2000; ++i) s.sync();
}

class CompletionBesidePoller : public test::completion_modes {
 protected:
  // Blocks a reactor thread in wait() until the gate opens.
  template <class Wait>
  void block_the_reactor(Wait wait) {
    [](completion c, Wait blocks, std::atomic<bool>& begun, std::atomic<bool>& ended) -> detached {
      co_await c;
      begun = true;
      blocks();
      ended = true;
    }(s.completion(), wait, blocked, unblocked);
    before.open();
    wait_for(blocked);
  }

  std::atomic<bool> blocked{false};
  std::atomic<bool> unblocked{false};
  stream t{gpu};
  stream u{gpu};
  gate before{s};
};
INSTANTIATE_TEST_SUITE_P(Ways, CompletionBesidePoller, ::testing::Values(false, true),
                         test::name_of_mode);

task<void> in_a_task(completion c) { co_await c; }

TEST_P(CompletionBesidePoller, ABlockedReactorThreadLeavesResumptionsToThePoller) {
  gate held{t};
  block_the_reactor([c = t.completion()] { sync_wait(in_a_task(c)); });
  auto poller = std::make_unique<completion_poller>(gpu);
  resumption result;
  gate late{u};
  await(u.completion(), result);
  late.open();
  give_time(u);
  EXPECT_FALSE(result.done);
  while (!result.done) poller->poll();
  EXPECT_EQ(result.where, std::this_thread::get_id());
  poller.reset();
  held.open();
  wait_for(unblocked);
}

TEST_P(CompletionBesidePoller, ABlockedReactorThreadResumesOtherCoroutinesInSyncWait) {
  gate held{t};
  block_the_reactor([c = t.completion()] { sync_wait(in_a_task(c)); });
  resumption result;
  gate late{u};
  await(u.completion(), result);
  late.open();
  wait_for(result.done);
  EXPECT_NE(result.where, std::this_thread::get_id());
  held.open();
  wait_for(unblocked);
}

// The blocked thread may hold a lock, so it must not run continuations.
TEST_P(CompletionBesidePoller, AReactorThreadThatWaitsForACompletionResumesNoCoroutine) {
  gate held{t};
  block_the_reactor([c = t.completion()] { sync_wait(c); });
  resumption result;
  gate late{u};
  await(u.completion(), result);
  late.open();
  give_time(u);
  EXPECT_FALSE(result.done);
  held.open();
  wait_for(result.done);
  wait_for(unblocked);
}

class CompletionBesidePollerOfTwoDevices : public test::completion_modes {
 protected:
  void SetUp() override {
    if (device::count() < 2) GTEST_SKIP() << "one device";
  }
  void poll_until(const std::atomic<bool>& condition) const {
    completion_poller poller{device{1}};
    while (!condition) poller.poll();
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, CompletionBesidePollerOfTwoDevices, ::testing::Values(false, true),
                         test::name_of_mode);

TEST_P(CompletionBesidePollerOfTwoDevices, APollerOfOneDeviceDoesNotResumeWorkOfAnotherDevice) {
  const device other{1};
  const stream mine{other};
  const stream others{other};
  const completion_poller poller{other};
  gate held{mine};
  gate late{others};
  resumption result;
  await(others.completion(), result);
  std::atomic<bool> drives{false};
  const std::jthread blocks{[&, c = mine.completion()] {
    const completion_poller its{gpu};
    drives = true;
    sync_wait(c);
  }};
  wait_for(drives);
  late.open();
  give_time(others);
  EXPECT_FALSE(result.done);
  poll_until(result.done);
  EXPECT_EQ(result.where, std::this_thread::get_id());
  held.open();
}

// Both completions are polled by the run loop, which ends when both are due.
TEST_P(CompletionBesidePollerOfTwoDevices, ResumptionsLeftByARunLoopGoToThePollerOfTheirDevice) {
  const device other{1};
  const stream t{other};
  const completion_poller poller{other};
  resumption first;
  resumption result;
  std::jthread{[&] {
    gate of_first{s};
    gate of_second{t};
    sync_wait([&]() -> task<void> {
      await(s.completion(), first);
      await(t.completion(), result);
      bool told = false;  // set when the second stream's work ends, after the loop
      t.completion().then([&] { told = true; });
      of_first.open();
      of_second.open();
      while (!told) poll_completions(device{1});
      co_return;
    }());
  }}.join();
  wait_for(first.done);
  give_time(t);
  EXPECT_FALSE(result.done);
  poll_until(result.done);
  EXPECT_EQ(result.where, std::this_thread::get_id());
}

}  // namespace
}  // namespace weir
