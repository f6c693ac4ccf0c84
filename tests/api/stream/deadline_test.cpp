// SPDX-License-Identifier: Apache-2.0
// deadline_test.cpp - waits of the host with a timeout or deadline.
#include <weir/event/event.hpp>
#include <weir/stream/stream.hpp>

#include <chrono>
#include <ratio>
#include <thread>

#include <gtest/gtest.h>

#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::failure_of;
using test::gate;
using test::result_of;
using namespace std::chrono_literals;

class Deadline : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
};

TEST_F(Deadline, CompletedWorkNeedsNoTime) {
  const event e = s.record();
  s.sync();
  EXPECT_TRUE(s.sync_for(0s));
  EXPECT_TRUE(s.sync_for(-1s));
  EXPECT_TRUE(e.sync_for(0ns));
  EXPECT_TRUE(s.sync_until(std::chrono::steady_clock::now() - 1h));
  EXPECT_TRUE(e.sync_until(std::chrono::system_clock::now()));
}

TEST_F(Deadline, AnExpiredDeadlineDoesNotWait) {
  gate held{s};
  const event e = s.record();
  const timed_event timed = s.record_timed();
  EXPECT_FALSE(s.sync_for(0s));
  EXPECT_FALSE(s.sync_for(-1h));
  EXPECT_FALSE(e.sync_for(1us));
  EXPECT_FALSE(timed.sync_for(1us));
  EXPECT_FALSE(s.sync_until(std::chrono::steady_clock::now() - 1s));
  EXPECT_FALSE(e.sync_until(std::chrono::system_clock::now() - 1h));
  EXPECT_FALSE(s.sync_until(std::chrono::steady_clock::time_point::min()));
  EXPECT_FALSE(e.sync_until(std::chrono::system_clock::time_point::min()));
  held.open();
  s.sync();
}

TEST_F(Deadline, AWaitDoesNotEndBeforeItsDeadline) {
  gate held{s};
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(s.sync_for(3ms));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 3ms);
  const auto deadline = std::chrono::steady_clock::now() + 2ms;
  EXPECT_FALSE(s.record().sync_until(deadline));
  EXPECT_GE(std::chrono::steady_clock::now(), deadline);
}

TEST_F(Deadline, AWaitReturnsTrueWhenTheWorkEndsInTime) {
  gate held{s};
  const event e = s.record();
  std::thread opener{[&] { held.open(); }};
  EXPECT_TRUE(s.sync_for(1h));
  EXPECT_TRUE(e.sync_for(0s));
  opener.join();
}

// Extreme durations neither overflow nor become zero.
TEST_F(Deadline, ExtremeAndFractionalDurationsAreAccepted) {
  gate held{s};
  std::thread opener{[&] { held.open(); }};
  EXPECT_TRUE(s.sync_for(std::chrono::hours::max()));
  opener.join();
  gate again{s};
  EXPECT_FALSE(s.sync_for(std::chrono::duration<double, std::milli>{0.25}));
  EXPECT_FALSE(s.sync_for(std::chrono::duration<int, std::pico>{1}));
  again.open();
  EXPECT_TRUE(s.sync_for(std::chrono::duration<float>{1e30f}));
}

// The wait covers the work that was queued when it began, even if another thread keeps queueing.
TEST_F(Deadline, LaterWorkDoesNotExtendTheWait) {
  gate first{s};
  const event behind = s.record();
  gate second{s};
  first.open();
  EXPECT_TRUE(behind.sync_for(1h));
  EXPECT_FALSE(s.sync_for(0s));
}

// Rule 41.
TEST_F(Deadline, AFailedCallThrowsAndIsNotATimeout) {
  const event e = s.record();
  s.sync();
  fault_table faults;
  faults.fail(&driver_table::cuEventQuery, 1, abi::CUDA_ERROR_ILLEGAL_ADDRESS);
  const auto failure = failure_of([&] { static_cast<void>(s.sync_for(1s)); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::illegal_address);
  EXPECT_STREQ(failure->call(), "cuEventQuery");
  faults.fail(&driver_table::cuEventQuery, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(result_of([&] { static_cast<void>(e.sync_for(1s)); }), errc::launch_failed);
}

TEST_F(Deadline, ClosedStreamsAndEventsThrowClosed) {
  event e = s.record();
  e.close();
  s.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(s.sync_for(1s)); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(e.sync_for(1s)); }), errc::closed);
}

}  // namespace
}  // namespace weir
