// announced_calls_test.cpp - the reactor asks as beside callers while the program says that there are some.
#include "reactor/announced_calls.hpp"

#include <weir/completion/completion.hpp>
#include <weir/device/device.hpp>
#include <weir/completion/reactor.hpp>
#include <weir/stream/stream.hpp>

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "support/completion_ways.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::callers_seen;
using detail::or_announced;

TEST(AnnouncedCalls, CountAsSeenWhileAnyIsThere) {
  EXPECT_EQ(or_announced(callers_seen::none), callers_seen::none);
  EXPECT_EQ(or_announced(callers_seen::perhaps), callers_seen::perhaps);
  std::optional<calls_past_weir> first{std::in_place};
  EXPECT_EQ(or_announced(callers_seen::none), callers_seen::surely);
  std::optional<calls_past_weir> second;
  std::thread{[&] { second.emplace(); }}.join();
  first.reset();
  EXPECT_EQ(or_announced(callers_seen::perhaps), callers_seen::surely);
  second.reset();
  EXPECT_EQ(or_announced(callers_seen::none), callers_seen::none);
  EXPECT_EQ(or_announced(callers_seen::surely), callers_seen::surely);
}

class AnnouncedCallsBeside : public test::completion_ways {};
INSTANTIATE_TEST_SUITE_P(Ways, AnnouncedCallsBeside, ::testing::Values(false, true), test::name_of_way);

// Whoever waits is told all the same, whenever that was said.
TEST_P(AnnouncedCallsBeside, WaitsEnd) {
  for (int i = 0; i < 50; ++i) {
    std::optional<calls_past_weir> said;
    if (i % 2 == 0) said.emplace();
    test::gate held{s};
    std::promise<void> told;
    s.completion().then([&] { told.set_value(); });
    if (i % 3 == 0) {
      said.reset();
    } else {
      said.emplace();
    }
    held.open();
    told.get_future().get();
  }
}

}  // namespace
}  // namespace weir
