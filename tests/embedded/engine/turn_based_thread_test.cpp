// SPDX-License-Identifier: Apache-2.0
// turn_based_thread_test.cpp - the thread of the library runs in its turns only.
#include "embedded/engine/turn_based_thread.hpp"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace weir::embedded::engine {
namespace {

TEST(TurnBasedThread, ATurnEndsBeforeTheGiverContinues) {
  turn_based_thread turns;
  int turns_taken = 0;  // not synchronized: turns order all accesses
  std::thread thread{[&] {
    for (turns.take_turn(); ++turns_taken < 3;) turns.take_turn();
    turns.request_turn();
  }};
  turns.request_turn();
  turns.give_turn();
  EXPECT_EQ(turns_taken, 1);
  turns.give_turn();  // was not requested
  EXPECT_EQ(turns_taken, 1);
  turns.request_turn();
  turns.give_turn();
  EXPECT_EQ(turns_taken, 2);
  turns.request_turn();
  turns.give_turn();  // the thread ends in this turn, so the wait for it times out
  thread.join();
  EXPECT_EQ(turns_taken, 3);
}

// A destructor of the program may wait for a lock that the giver holds.
TEST(TurnBasedThread, ABlockedTurnIsWaitedForOnce) {
  turn_based_thread turns;
  std::atomic<bool> release{false};
  std::atomic<bool> ended{false};
  std::thread thread{[&] {
    turns.take_turn();
    release.wait(false);
    ended = true;
  }};
  turns.request_turn();
  turns.give_turn();
  EXPECT_FALSE(ended);
  turns.request_turn();
  turns.give_turn();  // returns at once
  release = true;
  release.notify_all();
  thread.join();
}

}  // namespace
}  // namespace weir::embedded::engine
