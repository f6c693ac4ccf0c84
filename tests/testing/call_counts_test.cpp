// SPDX-License-Identifier: Apache-2.0
// call_counts counts the driver calls of the process by function.
#include <weir/testing/call_counts.hpp>

#include "support/errors.hpp"

#include <weir/device/device.hpp>
#include <weir/event/event.hpp>
#include <weir/testing/fail_call.hpp>

#include <gtest/gtest.h>

#include <optional>

namespace {

using namespace weir;
using test::result_of;
using weir::testing::call_counts;
using weir::testing::fail_call;

TEST(CallCounts, CallsAreCountedByFunction) {
  const device gpu;
  const call_counts counts;
  std::optional<event> created{gpu};
  created.reset();
  EXPECT_EQ(counts.of("cuEventCreate"), 1u);
  EXPECT_EQ(counts.of("cuEventDestroy"), 1u);
  EXPECT_EQ(counts.of("cuEventDestroy_v2"), 1u);
  EXPECT_EQ(counts.of("cuEventRecord"), 0u);
  EXPECT_GE(counts.all(), 2u);
  EXPECT_EQ(counts.of("*"), counts.all());
}

TEST(CallCounts, CountingStartsWithTheObject) {
  const device gpu;
  const event before{gpu};
  const call_counts counts;
  EXPECT_EQ(counts.of("cuEventCreate"), 0u);
}

TEST(CallCounts, FailedCallsCount) {
  const device gpu;
  const call_counts counts;
  const fail_call failing{"cuEventCreate", 1};
  EXPECT_EQ(result_of([&] { const event created{gpu}; }), errc::out_of_memory);
  EXPECT_EQ(counts.of("cuEventCreate"), 1u);
}

TEST(CallCounts, AnUnknownNameIsRefused) {
  const call_counts counts;
  EXPECT_EQ(result_of([&] { static_cast<void>(counts.of("cuNoSuchCall")); }), errc::invalid_value);
}

}  // namespace
