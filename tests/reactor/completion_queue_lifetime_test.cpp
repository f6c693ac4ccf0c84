// SPDX-License-Identifier: Apache-2.0
// completion_queue_lifetime_test.cpp - completion queues are reused for other streams after every
// kind of use.
#include "reactor/completion_queue.hpp"

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
#include "reactor/await.hpp"
#include "reactor/completion_queue_pool.hpp"
#include "reactor/reactor.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace weir::detail {
namespace {

using test::gate;

int queue_count() {
  int all = 0;
  for (const completion_queue* queue = newest_queue(); queue != nullptr; queue = queue->older())
    ++all;
  return all;
}

int live_events(const fault_table& calls) {
  return calls.count(&driver_table::cuEventCreate) - calls.count(&driver_table::cuEventDestroy_v2);
}

// A use of the completion of a stream or an event, before the stream is destroyed.
struct usage {
  const char* name;
  void (*apply)(const stream& s);
};

constexpr usage usages[] = {
    {"Awaited",
     [](const stream& s) {
       std::atomic<int> resumed{0};
       gate held{s};
       for (int i = 0; i < 3; ++i) await(s.completion(), resumed);
       held.open();
       s.sync();
       wait_for(resumed, 3);
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
       std::atomic<int> resumed{0};
       gate held{s};
       const event e = s.record();
       await(e.completion(), resumed);
       held.open();
       s.sync();
       wait_for(resumed, 1);
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
       std::atomic<int> resumed{0};
       gate held{s};
       std::optional<event> e{s.record()};
       await(e->completion(), resumed);
       e.reset();
       held.open();
       s.sync();
       wait_for(resumed, 1);
     }},
};

class CompletionQueueUse : public ::testing::TestWithParam<std::tuple<bool, usage>> {};

INSTANTIATE_TEST_SUITE_P(Ways, CompletionQueueUse,
                         ::testing::Combine(::testing::Bool(), ::testing::ValuesIn(usages)),
                         [](const auto& tested) {
                           return std::get<1>(tested.param).name +
                                  std::string{std::get<0>(tested.param) ? "Asked" : "AsItComes"};
                         });

// Streams are created and destroyed, and the number of queues stays bounded.
TEST_P(CompletionQueueUse, EveryUseReturnsItsCompletionQueue) {
  const auto& [polled, what] = GetParam();
  constexpr int rounds = 300;
  // Queues whose points are still pending or have not been queried since.
  constexpr int some = 150;
  std::optional<fault_table> calls;
  if (polled) calls.emplace();
  const device gpu;
  const int before = queue_count();
  for (int i = 0; i < rounds; ++i) {
    const stream s{gpu};
    what.apply(s);
    if (HasFatalFailure()) return;
  }
  EXPECT_LE(queue_count() - before, some);
  if (polled) {
    EXPECT_LE(live_events(*calls), some * 30);
  }
}

// Waiters, timers and demand are registered with the reactor of the device, so a queue keeps it.
TEST(CompletionQueueLifetime, ACompletionQueueStaysWithItsDevice) {
  const int devices = device::count();
  if (devices == 1) GTEST_SKIP() << "there is one device";
  for (const bool polled : {false, true}) {
    std::optional<fault_table> calls;
    if (polled) calls.emplace();
    for (int i = 0; i < 20 * devices; ++i) {
      const device gpu{i % devices};
      const stream s{gpu};
      gate held{s};
      const completion c = s.completion();
      EXPECT_EQ(&completion_access::queue(c)->owner(), &reactor::for_device(gpu.ordinal()));
      held.open();
      c.wait();
    }
  }
}

// The queue returns to the pool although no waiter makes the reactor poll it.
TEST(CompletionQueueLifetime, ACompletionQueueIsReusedWhenAllItsWaitersAreRemoved) {
  const fault_table polled;
  const device gpu;
  const completion_queue* first = nullptr;
  {
    const stream s{gpu};
    gate held{s};
    const completion c = s.completion();
    completion_queue& queue = *completion_access::queue(c);
    completion_waiter waiter;
    waiter.on_complete = [](completion_waiter&, errc) noexcept {
      ADD_FAILURE() << "told though it was taken back";
    };
    ASSERT_TRUE(add_waiter(queue, completion_access::ticket(c), waiter));
    ASSERT_TRUE(cancel_wait(queue, waiter));
    EXPECT_FALSE(cancel_wait(queue, waiter));
    held.open();
    s.sync();
    EXPECT_TRUE(c.done());
    first = &queue;
  }
  std::vector<stream> others;  // each has a queue of its own
  do {
    others.emplace_back(gpu);
    std::this_thread::yield();
  } while (completion_access::queue(others.back().completion()) != first);
}

}  // namespace
}  // namespace weir::detail
