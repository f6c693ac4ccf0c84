// lane_life_test.cpp - lanes serve one stream after the other, whatever is done with completions.
#include "reactor/lane.hpp"

#include <weir/completion/completion.hpp>
#include <weir/device/device.hpp>
#include <weir/event/event.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "api/completion/completion_access.hpp"
#include "support/fault_table.hpp"
#include "reactor/reactor.hpp"
#include "support/detached.hpp"
#include "support/gate.hpp"

namespace weir::detail {
namespace {

using test::detached;
using test::gate;

detached await(completion c, std::atomic<int>& told) {
  static_cast<void>(co_await c.outcome());
  ++told;
}

void wait_for(const std::atomic<int>& count, int wanted) {
  while (count != wanted) std::this_thread::yield();
}

int lanes() {
  int all = 0;
  for (const lane* one = newest_lane(); one != nullptr; one = one->older()) ++all;
  return all;
}

int live_events(const failing_table& calls) {
  return calls.count(&driver_table::cuEventCreate) - calls.count(&driver_table::cuEventDestroy_v2);
}

// What a program may do with a completion of a stream, or of an event, that it then gives up.
struct use {
  const char* name;
  void (*of)(const stream& s);
};

constexpr use uses[] = {
    {"Awaited",
     [](const stream& s) {
       std::atomic<int> told{0};
       gate held{s};
       for (int i = 0; i < 3; ++i) await(s.completion(), told);
       held.open();
       s.sync();
       wait_for(told, 3);
     }},
    {"WaitedFor",
     [](const stream& s) {
       gate held{s};
       const completion c = s.completion();
       held.open();
       c.wait();
     }},
    {"Dropped",
     [](const stream& s) {
       gate held{s};
       for (int i = 0; i < 20; ++i) static_cast<void>(s.completion());
       held.open();
       s.sync();
     }},
    {"OfAnEventAwaited",
     [](const stream& s) {
       std::atomic<int> told{0};
       gate held{s};
       const event e = s.record();
       await(e.completion(), told);
       held.open();
       s.sync();
       wait_for(told, 1);
     }},
    {"OfAnEventDropped",
     [](const stream& s) {
       gate held{s};
       const event e = s.record();
       static_cast<void>(e.completion());
       held.open();
       s.sync();
     }},
    {"OfAnEventThatEnds",
     [](const stream& s) {
       std::atomic<int> told{0};
       gate held{s};
       std::optional<event> e{s.record()};
       await(e->completion(), told);
       e.reset();
       held.open();
       s.sync();
       wait_for(told, 1);
     }},
};

class LaneUse : public ::testing::TestWithParam<std::tuple<bool, use>> {};

INSTANTIATE_TEST_SUITE_P(Ways, LaneUse, ::testing::Combine(::testing::Bool(), ::testing::ValuesIn(uses)),
                         [](const auto& of) {
                           return std::get<1>(of.param).name +
                                  std::string{std::get<0>(of.param) ? "Asked" : "AsItComes"};
                         });

// Streams come and go, and lanes do not become more.
TEST_P(LaneUse, LeavesNothing) {
  const auto& [asked, what] = GetParam();
  constexpr int rounds = 300;
  constexpr int some = 150;  // those that are not over yet, and those that nobody has looked at since
  std::optional<failing_table> calls;
  if (asked) calls.emplace();
  const device gpu;
  const int before = lanes();
  for (int i = 0; i < rounds; ++i) {
    const stream s{gpu};
    what.of(s);
    if (HasFatalFailure()) return;
  }
  EXPECT_LE(lanes() - before, some);
  if (asked) {
    EXPECT_LE(live_events(*calls), some * 30);
  }
}

// Waiters, timers and needs are with the reactor of the device, which a lane therefore keeps.
TEST(LaneLife, StaysWithItsDevice) {
  const int devices = device::count();
  if (devices == 1) GTEST_SKIP() << "there is one device";
  for (const bool asked : {false, true}) {
    std::optional<failing_table> calls;
    if (asked) calls.emplace();
    for (int i = 0; i < 20 * devices; ++i) {
      const device gpu{i % devices};
      const stream s{gpu};
      gate held{s};
      const completion c = s.completion();
      EXPECT_EQ(&completion_access::where(c)->home(), &reactor::of(gpu.ordinal()));
      held.open();
      c.wait();
    }
  }
}

// Nobody drives the reactor for its sake, and it is had again all the same.
TEST(LaneLife, IsLetGoOfWhenAllWaitersAreTakenBack) {
  const failing_table asked;
  const device gpu;
  const lane* first = nullptr;
  {
    const stream s{gpu};
    gate held{s};
    const completion c = s.completion();
    lane& where = *completion_access::where(c);
    completion_waiter who;
    who.told = [](completion_waiter&, errc) noexcept { ADD_FAILURE() << "told though it was taken back"; };
    ASSERT_TRUE(add_waiter(where, completion_access::ticket(c), who));
    ASSERT_TRUE(take_back(where, who));
    EXPECT_FALSE(take_back(where, who));
    held.open();
    s.sync();
    EXPECT_TRUE(c.done());
    first = &where;
  }
  std::vector<stream> others;  // each with a lane of its own
  do {
    others.emplace_back(gpu);
    std::this_thread::yield();
  } while (completion_access::where(others.back().completion()) != first);
}

}  // namespace
}  // namespace weir::detail
