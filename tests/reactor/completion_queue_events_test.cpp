// SPDX-License-Identifier: Apache-2.0
// completion_queue_events_test.cpp - completion queues keep no more events than they need.
#include "reactor/completion_queue.hpp"

#include <weir/completion/completion.hpp>
#include <weir/device/device.hpp>
#include <weir/event/event.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "driver/event_pool.hpp"
#include "reactor/await.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"
#include "support/table_override.hpp"

namespace weir::detail {
namespace {

using test::gate;
using test::table_override;

class CompletionQueueEvents : public ::testing::Test {
 protected:
  fault_table calls;
  device gpu;
  stream s{gpu};
};

// Short-lived streams with a few points each reuse pooled events and create hardly any.
TEST_F(CompletionQueueEvents, EventsOfCompletionQueuesAreReused) {
  for (int i = 0; i < 50; ++i) {
    const stream t{gpu};
    for (int k = 0; k < 10; ++k) t.completion().wait();
  }
  EXPECT_LE(calls.count(&driver_table::cuEventCreate), 20);
}

TEST_F(CompletionQueueEvents, EventsOfAFailedCompletionQueueAreDestroyed) {
  constexpr int many = 100;
  gate held{s};
  std::atomic<int> resumed{0};
  calls.fail_from(&driver_table::cuEventQuery, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
  for (int i = 0; i < many; ++i) await(s.completion(), resumed);
  wait_for(resumed, many);
  while (calls.count(&driver_table::cuEventDestroy_v2) < many) std::this_thread::yield();
}

// The queue owns an event of the program that is destroyed while its completion is awaited.
TEST(AdoptedEvent, AnEventDestroyedWhileAwaitedEndsWithItsCompletionQueue) {
  static std::atomic<abi::CUevent> left{nullptr};
  static std::atomic<bool> ended{false};
  ended = false;
  const table_override table{[](driver_table& t) {
    t.cuEventDestroy_v2 = [](abi::CUevent event) {
      const abi::CUresult answer = table_override::original().cuEventDestroy_v2(event);
      if (event == left) ended = true;
      return answer;
    };
  }};
  std::atomic<int> resumed{0};
  const stream s{device{}};
  gate held{s};
  std::optional<event> e{s.record()};
  left = e->get();
  await(e->completion(), resumed);
  e.reset();
  EXPECT_FALSE(ended);
  held.open();
  wait_for(resumed, 1);
  while (!ended) std::this_thread::yield();
}

// Counts the existing events. The table can also report all events as pending: a blocked stream of
// a GPU has no room for a burst of records.
class CompletionQueueBurst : public ::testing::Test {
 protected:
  static inline std::atomic<int> live{0};
  static inline std::atomic<int> queries{0};
  static inline std::atomic<bool> held{false};
  static inline const completion* asked_while_recording = nullptr;

  const table_override table{[](driver_table& t) {
    t.cuEventCreate = [](abi::CUevent* event, unsigned flags) {
      ++live;
      return table_override::original().cuEventCreate(event, flags);
    };
    t.cuEventDestroy_v2 = [](abi::CUevent event) {
      --live;
      return table_override::original().cuEventDestroy_v2(event);
    };
    t.cuEventQuery = [](abi::CUevent event) {
      ++queries;
      return held ? abi::CUDA_ERROR_NOT_READY : table_override::original().cuEventQuery(event);
    };
    t.cuEventRecord = [](abi::CUevent event, abi::CUstream stream) {
      const abi::CUresult answer = table_override::original().cuEventRecord(event, stream);
      if (asked_while_recording != nullptr) {
        EXPECT_TRUE(asked_while_recording->done());
      }
      return answer;
    };
  }};
  const int before = live;
  const stream s{device{}};
};

TEST_F(CompletionQueueBurst, ABurstLeavesFewEvents) {
  constexpr int burst = 100'000;
  constexpr auto few =
      static_cast<int>(event_pool::max_events + completion_ring::max_kept_capacity);
  for (const bool awaited : {false, true}) {
    std::atomic<int> resumed{0};
    held = true;
    completion last;
    for (int i = 0; i < burst; ++i) {
      last = s.completion();
      if (awaited) await(last, resumed);
    }
    EXPECT_GE(live - before, burst - few);
    held = false;
    last.wait();
    if (awaited) wait_for(resumed, burst);
    while (live - before > few) std::this_thread::yield();  // events are freed after notification
  }
}

// No thread ever queries these completions. The next one finds the ring full.
TEST_F(CompletionQueueBurst, ABurstOfUnawaitedCompletionsLeavesFewEvents) {
  // A power of two, so that the ring is full.
  constexpr auto burst = static_cast<int>(8 * completion_ring::max_kept_capacity);
  constexpr auto few = static_cast<int>(event_pool::max_events + 1);
  held = true;
  for (int i = 0; i < burst; ++i) static_cast<void>(s.completion());
  EXPECT_GE(live - before, burst - few);
  held = false;
  s.sync();
  static_cast<void>(s.completion());
  EXPECT_LE(live - before, few);
}

// The ring stays full but for the oldest point, whose completion is waited for before the next
// point is added.
TEST_F(CompletionQueueBurst, AConstantNumberOfPendingCompletionsNeedsNoFurtherQueries) {
  constexpr int additions = 100;
  std::deque<completion> pending;
  held = true;
  for (std::uint64_t i = 0; i < completion_ring::max_kept_capacity; ++i)
    pending.push_back(s.completion());
  held = false;
  for (int i = 0; i < additions; ++i) {
    s.sync();
    EXPECT_TRUE(pending.front().done());
    pending.pop_front();
    const int before_addition = queries;
    pending.push_back(s.completion());
    EXPECT_EQ(queries, before_addition);
  }
}

// The ring shrinks while a point is being recorded for which room was reserved.
TEST_F(CompletionQueueBurst, ABurstMayEndWhileACompletionIsRecorded) {
  held = true;
  completion last;
  for (std::uint64_t i = 0; i < completion_ring::max_kept_capacity + 1; ++i) last = s.completion();
  s.sync();
  held = false;
  asked_while_recording = &last;
  const completion behind = s.completion();
  asked_while_recording = nullptr;
  behind.wait();
}

}  // namespace
}  // namespace weir::detail
