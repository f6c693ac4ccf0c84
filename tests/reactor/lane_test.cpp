// lane_test.cpp - points are asked for rightly, whoever else asks.
#include "reactor/lane.hpp"

#include <weir/completion/completion.hpp>
#include <weir/device/device.hpp>
#include <weir/completion/reactor.hpp>
#include <weir/stream/stream.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/fault_table.hpp"
#include "support/detached.hpp"
#include "support/gate.hpp"
#include "support/own_table.hpp"

namespace weir::detail {
namespace {

using test::detached;
using test::gate;
using test::own_table;

detached await(completion c, std::atomic<int>& told) {
  static_cast<void>(co_await c.outcome());
  ++told;
}

// The more questions were answered well the farther behind the oldest point goes the next one; but never beyond the last.
TEST(Lane, IsAskedAboutItsPointAfterAnyNumberOfSuccesses) {
  const failing_table asked;
  const device gpu;
  reactor_drive drive{gpu};
  const stream s{gpu};
  for (int i = 0; i < 200; ++i) {
    std::atomic<int> told{0};
    gate held{s};
    await(s.completion(), told);
    held.open();
    s.sync();
    while (told == 0) drive.poll();
  }
}

// A later point that is pending says nothing about the oldest.
TEST(Lane, IsAskedAboutTheOldestWhereALaterPointIsPending) {
  static std::vector<abi::CUevent> recorded;
  static std::size_t done = 0;
  recorded.clear();
  done = 0;
  const own_table table{[](driver_table& t) {
    t.cuEventRecord = [](abi::CUevent event, abi::CUstream) {
      recorded.push_back(event);
      return abi::CUDA_SUCCESS;
    };
    t.cuEventQuery = [](abi::CUevent event) {
      const auto end = recorded.begin() + static_cast<std::ptrdiff_t>(done);
      return std::find(recorded.begin(), end, event) != end ? abi::CUDA_SUCCESS : abi::CUDA_ERROR_NOT_READY;
    };
  }};
  const device gpu;
  reactor_drive drive{gpu};
  const stream s{gpu};
  std::atomic<int> told{0};
  for (int i = 0; i < 4; ++i) await(s.completion(), told);
  done = 2;
  drive.poll();
  EXPECT_EQ(told, 1);
  drive.poll();  // about the third
  EXPECT_EQ(told, 2);
  done = 4;
  drive.poll();
  EXPECT_EQ(told, 4);
}

// A question that somebody else has asked before does not answer this one.
TEST(Lane, IsDoneAfterASync) {
  static std::atomic<bool> is_asking{false};
  static std::atomic<bool> holds_on{false};
  const own_table table{[](driver_table& t) {
    t.cuEventQuery = [](abi::CUevent event) {
      const abi::CUresult answer = own_table::below().cuEventQuery(event);
      if (holds_on) is_asking = true;
      for (int i = 0; holds_on && i < 100'000; ++i) std::this_thread::yield();
      return answer;
    };
  }};
  const stream s{device{}};
  gate held{s};
  const completion c = s.completion();
  holds_on = true;
  std::jthread other{[&] { static_cast<void>(c.status()); }};
  while (!is_asking) std::this_thread::yield();
  held.open();
  s.sync();
  std::jthread lets_go{[] { holds_on = false; }};
  EXPECT_TRUE(c.done());
}

// The earlier one is told by the loop, which goes on when this is over.
TEST(Lane, WhoAwaitsWhatIsDoneGoesOnThoughAnEarlierOneIsStillToBeTold) {
  const failing_table asked;
  const stream s{device{}};
  std::atomic<int> early{0};
  std::atomic<int> late{0};
  const auto both = [&]() -> task<> {
    gate held{s};
    await(s.completion(), early);
    const completion c = s.completion();
    held.open();
    s.sync();
    await(c, late);
    EXPECT_EQ(late, 1);
    co_return;
  };
  sync_wait(both());
  while (early == 0) std::this_thread::yield();
}

TEST(Lane, KeepsFewPointsOfADoneStreamAlsoAfterABurst) {
  constexpr int burst = 20'000;  // more than are kept for other streams
  constexpr int few = 100;
  const failing_table calls;
  const auto live_events = [&] {
    return calls.count(&driver_table::cuEventCreate) - calls.count(&driver_table::cuEventDestroy_v2);
  };
  const stream s{device{}};
  gate held{s};
  completion last;
  for (int i = 0; i < burst; ++i) last = s.completion();
  held.open();
  last.wait();
  const int before = live_events();
  for (int i = 0; i < burst; ++i) static_cast<void>(s.completion());
  EXPECT_LE(live_events() - before, few);
}

TEST(Lane, ThoseWhoWaitBehindOthersAreToldWhoeverAsks) {
  constexpr int behind = 200;
  const failing_table asked;
  const stream s{device{}};
  std::atomic<int> told{0};
  gate held{s};
  const completion early = s.completion();
  const completion first = s.completion();
  const auto await_what_is_just_made = [&]() -> detached {
    co_await s.completion();
    ++told;
  };
  await(first, told);
  for (int i = 0; i < behind; i += 2) {
    await_what_is_just_made();
    await(first, told);
  }
  await(early, told);
  held.open();
  while (told != behind + 2) std::this_thread::yield();
}

// The thread may wait for that, and whoever keeps the reactor's thread from looking may wait for this one.
TEST(Lane, WhatIsDoneGoesOnAtOnceAlsoBehindOthers) {
  const failing_table asked;
  const stream s{device{}};
  for (int i = 1; i <= 300; ++i) {
    std::atomic<int> first_told{0};
    std::atomic<int> told{0};
    gate held{s};
    await(s.completion(), first_told);
    const completion last = s.completion();
    held.open();
    s.sync();
    await(last, told);
    EXPECT_EQ(told, 1);
    while (first_told == 0) std::this_thread::yield();
  }
}

// The thread looks for those that waited before, without a pause or between sleeps. While it falls asleep or wakes up it is not
// relied upon.
TEST(Lane, WhatIsJustMadeIsNotAskedAboutBehindOthersWhoWait) {
  static std::atomic<int> by_this_thread{0};
  static std::atomic<bool> by_the_other{false};
  static std::thread::id self;
  self = std::this_thread::get_id();
  const own_table table{[](driver_table& t) {
    t.cuEventQuery = [](abi::CUevent event) {
      if (std::this_thread::get_id() == self) {
        ++by_this_thread;
      } else {
        by_the_other = true;
      }
      return own_table::below().cuEventQuery(event);
    };
  }};
  constexpr int behind = 1'000;
  const stream s{device{}};
  std::atomic<int> told{0};
  gate held{s};
  const auto await_what_is_just_made = [&]() -> detached {
    co_await s.completion();
    ++told;
  };
  await_what_is_just_made();
  while (!by_the_other) std::this_thread::yield();
  by_this_thread = 0;
  for (int i = 0; i < behind; ++i) await_what_is_just_made();
  EXPECT_LE(by_this_thread, behind / 4);
  held.open();
  while (told != behind + 1) std::this_thread::yield();
}

// Those of earlier rounds are done, those of this one stand behind them.
TEST(Lane, AsksAFewQuestionsForManyPointsThatNobodyAwaits) {
  constexpr int rounds = 20;
  const failing_table calls;
  for (const int each : {1, 10, 20, 50, 100, 200, 300}) {
    const int before = calls.count(&driver_table::cuEventQuery);
    const stream s{device{}};
    for (int round = 0; round < rounds; ++round) {
      gate held{s};
      for (int i = 0; i < each; ++i) static_cast<void>(s.completion());
      held.open();
      s.sync();
    }
    const int asked = calls.count(&driver_table::cuEventQuery) - before;
    EXPECT_LE(asked, rounds * each / 4) << each << " at a time";
  }
}

}  // namespace
}  // namespace weir::detail
