// SPDX-License-Identifier: Apache-2.0
// delay_call delays the chosen driver calls.
#include <weir/testing/delay_call.hpp>

#include "support/errors.hpp"

#include <weir/device/device.hpp>
#include <weir/event/event.hpp>

#include <gtest/gtest.h>

#include <chrono>

namespace {

using namespace weir;
using namespace std::chrono_literals;
using test::result_of;
using weir::testing::delay_call;

std::chrono::nanoseconds time_of_event(device gpu) {
  const auto start = std::chrono::steady_clock::now();
  const event created{gpu};
  return std::chrono::steady_clock::now() - start;
}

// A call is never faster than its delay, however busy the machine is.
TEST(DelayCall, ACallTakesAtLeastItsDelay) {
  const device gpu;
  const delay_call slow{"cuEventCreate", 2ms};
  EXPECT_GE(time_of_event(gpu), 2ms);
}

TEST(DelayCall, InvalidArgumentsAreRefused) {
  EXPECT_EQ(result_of([] { delay_call{"cuNoSuchCall", 1ms}; }), errc::invalid_value);
  EXPECT_EQ(result_of([] { delay_call{"cuEventCreate", -1ms}; }), errc::invalid_value);
}

}  // namespace
