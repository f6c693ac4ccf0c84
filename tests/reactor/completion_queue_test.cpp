// SPDX-License-Identifier: Apache-2.0
// completion_queue_test.cpp - points are queried correctly, also by concurrent threads.
#include "reactor/completion_queue.hpp"

#include <weir/completion/completion.hpp>
#include <weir/completion/reactor.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/stream.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "reactor/await.hpp"
#include "support/detached.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"
#include "support/table_override.hpp"

namespace weir::detail {
namespace {

using test::detached;
using test::gate;
using test::table_override;

// After each success the next query goes farther behind the oldest point, but never beyond the
// last.
TEST(CompletionQueue, AQueryNeverGoesBeyondTheLastRecord) {
  const fault_table polled;
  const device gpu;
  completion_poller poller{gpu};
  const stream s{gpu};
  for (int i = 0; i < 200; ++i) {
    std::atomic<int> resumed{0};
    gate held{s};
    await(s.completion(), resumed);
    held.open();
    s.sync();
    while (resumed == 0) poller.poll();
  }
}

// The oldest point may be complete although a later one is pending.
TEST(CompletionQueue, TheOldestEventIsQueriedWhenALaterOneIsPending) {
  static std::vector<abi::CUevent> recorded;
  static std::size_t done = 0;
  recorded.clear();
  done = 0;
  const table_override table{[](driver_table& t) {
    t.cuEventRecord = [](abi::CUevent event, abi::CUstream) {
      recorded.push_back(event);
      return abi::CUDA_SUCCESS;
    };
    t.cuEventQuery = [](abi::CUevent event) {
      const auto end = recorded.begin() + static_cast<std::ptrdiff_t>(done);
      return std::find(recorded.begin(), end, event) != end ? abi::CUDA_SUCCESS
                                                            : abi::CUDA_ERROR_NOT_READY;
    };
  }};
  const device gpu;
  completion_poller poller{gpu};
  const stream s{gpu};
  std::atomic<int> resumed{0};
  for (int i = 0; i < 4; ++i) await(s.completion(), resumed);
  done = 2;
  poller.poll();
  EXPECT_EQ(resumed, 1);
  poller.poll();  // queries the third
  EXPECT_EQ(resumed, 2);
  done = 4;
  poller.poll();
  EXPECT_EQ(resumed, 4);
}

// A query that another thread began before the sync does not decide done().
TEST(CompletionQueue, ACompletionIsDoneAfterAStreamSync) {
  static std::atomic<bool> is_asking{false};
  static std::atomic<bool> holds_on{false};
  const table_override table{[](driver_table& t) {
    t.cuEventQuery = [](abi::CUevent event) {
      const abi::CUresult answer = table_override::original().cuEventQuery(event);
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

// The earlier waiter is notified by the run loop, which continues when this coroutine has finished.
TEST(CompletionQueue, AnAwaitOfCompletedWorkDoesNotWaitForEarlierNotifications) {
  const fault_table polled;
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

TEST(CompletionQueue, ACompletedStreamKeepsFewEventsAfterABurst) {
  constexpr int burst = 20'000;  // more than event_pool::max_events
  constexpr int few = 100;
  const fault_table calls;
  const auto live_events = [&] {
    return calls.count(&driver_table::cuEventCreate) -
           calls.count(&driver_table::cuEventDestroy_v2);
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

TEST(CompletionQueue, EveryWaiterIsResumedWhicheverThreadQueries) {
  constexpr int waiter_count = 200;
  const fault_table polled;
  const stream s{device{}};
  std::atomic<int> resumed{0};
  gate held{s};
  const completion early = s.completion();
  const completion first = s.completion();
  const auto await_new_completion = [&]() -> detached {
    co_await s.completion();
    ++resumed;
  };
  await(first, resumed);
  for (int i = 0; i < waiter_count; i += 2) {
    await_new_completion();
    await(first, resumed);
  }
  await(early, resumed);
  held.open();
  while (resumed != waiter_count + 2) std::this_thread::yield();
}

// An await of completed work must not depend on the reactor's thread: that thread may be blocked by
// one that waits for the calling thread.
TEST(CompletionQueue, AnAwaitOfCompletedWorkContinuesAtOnceBehindOtherWaiters) {
  const fault_table polled;
  const stream s{device{}};
  for (int i = 1; i <= 300; ++i) {
    std::atomic<int> first_resumed{0};
    std::atomic<int> resumed{0};
    gate held{s};
    await(s.completion(), first_resumed);
    const completion last = s.completion();
    held.open();
    s.sync();
    await(last, resumed);
    EXPECT_EQ(resumed, 1);
    while (first_resumed == 0) std::this_thread::yield();
  }
}

// The reactor's thread already polls for earlier waiters, continuously or between sleeps. The
// calling thread queries only while that thread falls asleep or wakes up.
TEST(CompletionQueue, ANewCompletionIsNotQueriedBehindOtherWaiters) {
  static std::atomic<int> queries_by_this_thread{0};
  static std::atomic<bool> queried_by_reactor{false};
  static std::thread::id self;
  self = std::this_thread::get_id();
  const table_override table{[](driver_table& t) {
    t.cuEventQuery = [](abi::CUevent event) {
      if (std::this_thread::get_id() == self) {
        ++queries_by_this_thread;
      } else {
        queried_by_reactor = true;
      }
      return table_override::original().cuEventQuery(event);
    };
  }};
  constexpr int waiter_count = 1'000;
  const stream s{device{}};
  std::atomic<int> resumed{0};
  gate held{s};
  const auto await_new_completion = [&]() -> detached {
    co_await s.completion();
    ++resumed;
  };
  await_new_completion();
  while (!queried_by_reactor) std::this_thread::yield();
  queries_by_this_thread = 0;
  for (int i = 0; i < waiter_count; ++i) await_new_completion();
  EXPECT_LE(queries_by_this_thread, waiter_count / 4);
  held.open();
  while (resumed != waiter_count + 1) std::this_thread::yield();
}

// Completed points of earlier rounds are in front of the pending points of the current round.
TEST(CompletionQueue, UnawaitedCompletionsNeedFewQueries) {
  constexpr int rounds = 20;
  const fault_table calls;
  for (const int each : {1, 10, 20, 50, 100, 200, 300}) {
    const int before = calls.count(&driver_table::cuEventQuery);
    const stream s{device{}};
    for (int round = 0; round < rounds; ++round) {
      gate held{s};
      for (int i = 0; i < each; ++i) static_cast<void>(s.completion());
      held.open();
      s.sync();
    }
    const int polled = calls.count(&driver_table::cuEventQuery) - before;
    EXPECT_LE(polled, rounds * each / 4) << each << " at a time";
  }
}

}  // namespace
}  // namespace weir::detail
