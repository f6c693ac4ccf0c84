// completion_beside_drive_test.cpp - threads that block leave to others what others are to resume.
#include <weir/completion/completion.hpp>
#include <weir/device/device.hpp>
#include <weir/completion/reactor.hpp>
#include <weir/stream/stream.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>

#include <atomic>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "support/completion_ways.hpp"
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

detached await(completion c, resumption& noted) {
  static_cast<void>(co_await c.outcome());
  noted.where = std::this_thread::get_id();
  noted.done = true;
}

void wait_for(const std::atomic<bool>& condition) {
  while (!condition) std::this_thread::yield();
}

// The work is done, and whoever would tell of it has time to.
void give_time(const stream& s) {
  for (int i = 0; i < 2000; ++i) s.sync();
}

class CompletionBesideDrive : public test::completion_ways {
 protected:
  // On a thread of the reactor's, until the gate is opened.
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
INSTANTIATE_TEST_SUITE_P(Ways, CompletionBesideDrive, ::testing::Values(false, true), test::name_of_way);

task<void> in_a_task(completion c) { co_await c; }

TEST_P(CompletionBesideDrive, TheReactorsThreadStandsBackWhereItBlocks) {
  gate held{t};
  block_the_reactor([c = t.completion()] { sync_wait(in_a_task(c)); });
  auto drive = std::make_unique<reactor_drive>(gpu);
  resumption noted;
  gate late{u};
  await(u.completion(), noted);
  late.open();
  give_time(u);
  EXPECT_FALSE(noted.done);
  while (!noted.done) drive->poll();
  EXPECT_EQ(noted.where, std::this_thread::get_id());
  drive.reset();
  held.open();
  wait_for(unblocked);
}

TEST_P(CompletionBesideDrive, TheReactorsThreadResumesOthersInACoroutinesWait) {
  gate held{t};
  block_the_reactor([c = t.completion()] { sync_wait(in_a_task(c)); });
  resumption noted;
  gate late{u};
  await(u.completion(), noted);
  late.open();
  wait_for(noted.done);
  EXPECT_NE(noted.where, std::this_thread::get_id());
  held.open();
  wait_for(unblocked);
}

// It may hold a lock.
TEST_P(CompletionBesideDrive, TheReactorsThreadResumesNobodyInACompletionsWait) {
  gate held{t};
  block_the_reactor([c = t.completion()] { sync_wait(c); });
  resumption noted;
  gate late{u};
  await(u.completion(), noted);
  late.open();
  give_time(u);
  EXPECT_FALSE(noted.done);
  held.open();
  wait_for(noted.done);
  wait_for(unblocked);
}

class CompletionBesideDriveOfTwo : public test::completion_ways {
 protected:
  void SetUp() override {
    if (device::count() < 2) GTEST_SKIP() << "one device";
  }
  void drive_until(const std::atomic<bool>& condition) const {
    reactor_drive drive{device{1}};
    while (!condition) drive.poll();
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, CompletionBesideDriveOfTwo, ::testing::Values(false, true), test::name_of_way);

TEST_P(CompletionBesideDriveOfTwo, AThreadThatDrivesOneDeviceLeavesTheOther) {
  const device other{1};
  const stream mine{other};
  const stream others{other};
  const reactor_drive drive{other};
  gate held{mine};
  gate late{others};
  resumption noted;
  await(others.completion(), noted);
  std::atomic<bool> drives{false};
  const std::jthread blocks{[&, c = mine.completion()] {
    const reactor_drive its{gpu};
    drives = true;
    sync_wait(c);
  }};
  wait_for(drives);
  late.open();
  give_time(others);
  EXPECT_FALSE(noted.done);
  drive_until(noted.done);
  EXPECT_EQ(noted.where, std::this_thread::get_id());
  held.open();
}

// Both are the loop's, which ends when they are due.
TEST_P(CompletionBesideDriveOfTwo, WhatALoopLeavesGoesToItsOwnDevice) {
  const device other{1};
  const stream t{other};
  const reactor_drive drive{other};
  resumption first;
  resumption noted;
  std::jthread{[&] {
    gate of_first{s};
    gate of_second{t};
    sync_wait([&]() -> task<void> {
      await(s.completion(), first);
      await(t.completion(), noted);
      bool told = false;  // of the second's end, after the loop
      t.completion().then([&] { told = true; });
      of_first.open();
      of_second.open();
      while (!told) poll_completions(device{1});
      co_return;
    }());
  }}.join();
  wait_for(first.done);
  give_time(t);
  EXPECT_FALSE(noted.done);
  drive_until(noted.done);
  EXPECT_EQ(noted.where, std::this_thread::get_id());
}

}  // namespace
}  // namespace weir
