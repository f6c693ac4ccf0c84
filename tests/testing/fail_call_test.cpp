// SPDX-License-Identifier: Apache-2.0
// fail_call fails the chosen driver calls of the process, and no others.
#include <weir/testing/fail_call.hpp>

#include "support/errors.hpp"

#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <thread>
#include <vector>

namespace {

using namespace weir;
using test::result_of;
using weir::testing::any_call;
using weir::testing::at_random;
using weir::testing::every_nth;
using weir::testing::fail_call;

class FailCall : public ::testing::Test {
 protected:
  // Returns the result of creating an event, which is one cuEventCreate.
  errc create() {
    return result_of([&] { const event created{gpu}; });
  }

  device gpu;
};

TEST_F(FailCall, TheNthCallFailsAndNoOther) {
  const fail_call failing{"cuEventCreate", 2};
  EXPECT_EQ(create(), errc::success);
  EXPECT_EQ(failing.failures(), 0u);
  EXPECT_EQ(create(), errc::out_of_memory);
  EXPECT_EQ(create(), errc::success);
  EXPECT_EQ(failing.failures(), 1u);
}

TEST_F(FailCall, CallsPassAgainAfterItsEnd) {
  {
    const fail_call failing{"cuEventCreate", every_nth{1}};
    EXPECT_EQ(create(), errc::out_of_memory);
  }
  EXPECT_EQ(create(), errc::success);
}

TEST_F(FailCall, TheCodeIsTheGivenOne) {
  const fail_call failing{"cuEventCreate", 1, errc::launch_failed};
  EXPECT_EQ(create(), errc::launch_failed);
}

TEST_F(FailCall, EveryNthCallFails) {
  const fail_call failing{"cuEventCreate", every_nth{3}};
  std::vector<errc> results;
  for (int i = 0; i < 6; ++i) results.push_back(create());
  const errc ok = errc::success;
  const errc no = errc::out_of_memory;
  EXPECT_EQ(results, (std::vector{ok, ok, no, ok, ok, no}));
}

TEST_F(FailCall, EqualSeedsFailEqualCalls) {
  const auto results_with = [&](std::uint64_t seed) {
    const fail_call failing{"cuEventCreate", at_random{0.5, seed}};
    std::vector<errc> results;
    for (int i = 0; i < 64; ++i) results.push_back(create());
    return results;
  };
  EXPECT_EQ(results_with(7), results_with(7));
  EXPECT_NE(results_with(7), results_with(8));
}

TEST_F(FailCall, ASuffixedNameStandsForOneVersion) {
  const fail_call failing{"cuEventDestroy_v2", every_nth{1}, errc::launch_failed};
  event created{gpu};
  EXPECT_EQ(result_of([&] { created.close(); }), errc::launch_failed);
}

TEST_F(FailCall, AnyCallStandsForAllFunctions) {
  const fail_call failing{any_call, every_nth{1}, errc::not_supported};
  EXPECT_EQ(create(), errc::not_supported);
}

TEST_F(FailCall, CallsOfOtherThreadsFailToo) {
  const fail_call failing{"cuEventCreate", 1};
  std::thread{[&] { EXPECT_EQ(create(), errc::out_of_memory); }}.join();
}

TEST_F(FailCall, TheFirstObjectThatSelectsACallDecides) {
  const fail_call first{"cuEventCreate", 1, errc::out_of_memory};
  const fail_call second{"cuEventCreate", 1, errc::launch_failed};
  EXPECT_EQ(create(), errc::out_of_memory);
  EXPECT_EQ(create(), errc::launch_failed);
}

TEST_F(FailCall, AFailedAllocationLeavesNoBuffer) {
  const fail_call failing{"cuMemHostAlloc", 1};
  EXPECT_EQ(result_of([&] { const pinned_buffer<int> x{100}; }), errc::out_of_memory);
  EXPECT_EQ(result_of([&] { const pinned_buffer<int> x{100}; }), errc::success);
}

TEST_F(FailCall, InvalidArgumentsAreRefused) {
  EXPECT_EQ(result_of([] { fail_call{"cuNoSuchCall", 1}; }), errc::invalid_value);
  EXPECT_EQ(result_of([] { fail_call{"cuEventCreate", 0u}; }), errc::invalid_value);
  EXPECT_EQ(result_of([] { fail_call{"cuEventCreate", every_nth{0}}; }), errc::invalid_value);
  EXPECT_EQ(result_of([] { fail_call{"cuEventCreate", at_random{1.5}}; }), errc::invalid_value);
  EXPECT_EQ(result_of([] { fail_call{"cuEventCreate", 1, errc::success}; }), errc::invalid_value);
  EXPECT_EQ(create(), errc::success);
}

}  // namespace
