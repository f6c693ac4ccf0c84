// SPDX-License-Identifier: Apache-2.0
// thread_reactors_test.cpp - the reactors that a thread drives as a poller, and until when.
#include "reactor/thread_reactors.hpp"

#include <weir/device/device.hpp>

#include <bit>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "reactor/reactor.hpp"

namespace weir::detail {
namespace {

// Returns the reactor of a device that need not exist, and so has no waiters.
reactor& unused_reactor(int number) { return reactor::for_device(60 + number); }

std::vector<reactor*> reactors_of_this_thread() {
  std::vector<reactor*> all;
  for (std::uint64_t left = this_thread_reactors().devices(); left != 0; left &= left - 1)
    all.push_back(&reactor::existing_for_device(std::countr_zero(left)));
  return all;
}

TEST(PollerCount, APollerCountStartsANewPeriodAfterItsLastEnd) {
  poller_count count;
  EXPECT_FALSE(count.is_current(count.period()));
  count.add();
  const std::uint32_t first = count.period();
  count.add();
  EXPECT_EQ(count.period(), first);
  count.remove();
  EXPECT_TRUE(count.is_current(first));
  count.remove();
  EXPECT_FALSE(count.is_current(first));
  count.add();
  EXPECT_FALSE(count.is_current(first));
  EXPECT_TRUE(count.is_current(count.period()));
}

TEST(ThreadReactors, BeginningOrPollingAssignsAReactorToTheThread) {
  reactor& other = unused_reactor(0);
  EXPECT_FALSE(reactor::this_thread_must_drive());
  other.add_poller();
  EXPECT_TRUE(reactor::this_thread_must_drive());
  std::jthread{[&] {
    EXPECT_FALSE(reactor::this_thread_must_drive());
    other.poll();
    EXPECT_TRUE(reactor::this_thread_must_drive());
    other.remove_poller();
    EXPECT_FALSE(reactor::this_thread_must_drive());
  }}.join();
  EXPECT_FALSE(reactor::this_thread_must_drive());
  EXPECT_TRUE(reactors_of_this_thread().empty());
}

TEST(ThreadReactors, AnEndedPollerDoesNotAssignALaterPeriodToItsThread) {
  reactor& other = unused_reactor(0);
  other.add_poller();
  other.remove_poller();
  std::jthread{[&] { other.add_poller(); }}.join();
  EXPECT_FALSE(reactor::this_thread_must_drive());
  other.poll();
  EXPECT_TRUE(reactor::this_thread_must_drive());
  other.remove_poller();
}

TEST(ThreadReactors, AThreadCanPollSeveralReactorsUntilEachEnds) {
  std::vector<reactor*> all{&unused_reactor(0), &unused_reactor(1), &unused_reactor(2)};
  for (reactor* const each : all) each->add_poller();
  for (reactor* const each : all) each->poll();
  EXPECT_EQ(reactors_of_this_thread(), all);
  all[1]->remove_poller();
  EXPECT_EQ(reactors_of_this_thread(), (std::vector{all[0], all[2]}));
  all[0]->remove_poller();
  all[2]->remove_poller();
  EXPECT_TRUE(reactors_of_this_thread().empty());
}

}  // namespace
}  // namespace weir::detail
