// SPDX-License-Identifier: Apache-2.0
// external_launches_test.cpp - how the reactor polls while external launches are expected.
#include <weir/completion/completion.hpp>
#include <weir/completion/reactor.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/stream.hpp>

#include <future>
#include <optional>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "reactor/contention_detector.hpp"
#include "support/completion_modes.hpp"
#include "support/gate.hpp"

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
