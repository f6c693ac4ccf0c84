// SPDX-License-Identifier: Apache-2.0
// completion_queue_recording_test.cpp - points are added in the order of the stream, also by
// concurrent threads.
#include "reactor/completion_queue.hpp"

#include <weir/completion/completion.hpp>
#include <weir/completion/reactor.hpp>
#include <weir/core/error.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/stream.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "api/completion/completion_access.hpp"
#include "reactor/await.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"
#include "support/table_override.hpp"
#include "support/wait_until_asleep.hpp"

namespace weir::detail {
namespace {

using test::gate;
using test::table_override;
using test::wait_until_asleep;

constexpr int threads = 4;
constexpr int each = 100;
constexpr int points = 500;

std::atomic<int> recording{0};
std::atomic<int> recorded{0};
std::atomic<bool> overlaps{false};
std::atomic<int> to_fail{0};
std::atomic<bool> may_go_on{true};
std::atomic<pid_t> recorder{0};       // the thread that records
std::atomic<bool> is_queried{false};  // set by queries of other threads than the test's own
std::atomic<int> queries_made{0};     // queries of threads with counts_queries
thread_local int order = 0;           // the position of this thread's last record
thread_local bool is_test_thread = false;
thread_local bool counts_queries = false;

// The driver is slow to record, so that other threads arrive meanwhile.
class CompletionQueueRecording : public ::testing::Test {
 protected:
  void SetUp() override {
    is_test_thread = true;
    recorded = 0;
    is_queried = false;
  }

  const table_override table{[](driver_table& t) {
    t.cuEventRecord = [](abi::CUevent event, abi::CUstream stream) {
      if (++recording != 1) overlaps = true;
      recorder = ::gettid();
      order = ++recorded;
      do std::this_thread::yield();
      while (!may_go_on);
      const bool fails = to_fail > 0 && to_fail-- > 0;
      const abi::CUresult answer = fails ? abi::CUDA_ERROR_OUT_OF_MEMORY
                                         : table_override::original().cuEventRecord(event, stream);
      --recording;
      return answer;
    };
    t.cuEventQuery = [](abi::CUevent event) {
      if (counts_queries) ++queries_made;
      if (!is_test_thread) is_queried = true;
      return table_override::original().cuEventQuery(event);
    };
  }};
  const stream s{device{}};
};

using ticket_and_order = std::pair<unsigned long long, int>;

TEST_F(CompletionQueueRecording, TicketsFollowTheOrderOfTheStream) {
  std::vector<ticket_and_order> seen[threads];
  {
    std::vector<std::jthread> all;
    all.reserve(threads);
    for (auto& own : seen) {
      all.emplace_back([&] {
        for (int i = 0; i < each; ++i) {
          const completion c = s.completion();
          own.emplace_back(completion_access::ticket(c), order);
        }
      });
    }
  }
  EXPECT_FALSE(overlaps);
  std::vector<ticket_and_order> together;
  for (const auto& one : seen) together.insert(together.end(), one.begin(), one.end());
  std::sort(together.begin(), together.end());
  for (int i = 0; i < threads * each; ++i)
    EXPECT_EQ(together[static_cast<std::size_t>(i)].second, i + 1);
}

// The threads that wait behind the failed record have their turn.
TEST_F(CompletionQueueRecording, RecordingContinuesAfterAFailedRecord) {
  std::atomic<int> failed{0};
  {
    std::vector<std::jthread> all;
    all.reserve(threads);
    for (int k = 0; k < threads; ++k) {
      all.emplace_back([&] {
        for (int i = 0; i < each; ++i) {
          if (i % 10 == 0) ++to_fail;
          try {
            s.completion().wait();
          } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::out_of_memory);
            ++failed;
          }
        }
      });
    }
  }
  EXPECT_EQ(failed + to_fail, threads * each / 10);
  EXPECT_FALSE(overlaps);
  to_fail = 0;
  s.completion().wait();
}

// A thread whose turn comes after the queue was detached passes it on to the next.
TEST_F(CompletionQueueRecording, DetachingACompletionQueueRefusesAllPendingRecords) {
  for (int round = 0; round < 20; ++round) {
    const stream t{device{}};
    completion_queue& queue = *completion_access::queue(t.completion());
    const std::uint64_t generation = queue.generation();
    may_go_on = false;
    const int before = recorded;
    std::atomic<pid_t> arrived[threads] = {};
    std::atomic<int> refused{0};
    std::vector<std::jthread> all;
    all.reserve(threads);
    for (std::atomic<pid_t>& own : arrived) {
      all.emplace_back([&] {
        std::uint64_t ticket = 0;
        own = ::gettid();
        if (queue.add_point(t.get(), generation, ticket).code == completion_queue::stale) ++refused;
      });
    }
    while (recorded == before) std::this_thread::yield();
    for (const auto& one : arrived) {
      while (one == 0) std::this_thread::yield();
      if (one != recorder) wait_until_asleep(one);
    }
    queue.detach();
    may_go_on = true;
    all.clear();
    EXPECT_EQ(refused, threads - 1);
  }
}

// Returns how often this thread queries events while it adds `points` points.
int queries_beside(const stream& s) {
  counts_queries = true;
  queries_made = 0;
  for (int i = 0; i < points; ++i) static_cast<void>(s.completion());
  counts_queries = false;
  return queries_made;
}

// The reactor's thread already queries the events, except for short moments.
TEST_F(CompletionQueueRecording, RecordingRarelyQueriesEventsWhileAWaiterExists) {
  gate held{s};
  std::atomic<int> resumed{0};
  await(s.completion(), resumed);
  while (!is_queried) std::this_thread::yield();
  EXPECT_LE(queries_beside(s), 10);
  held.open();
  while (resumed == 0) std::this_thread::yield();
}

// Like queries_beside(), but the newest point always has a waiter, and the one before loses its
// waiter.
int queries_while_moving_on(const stream& s) {
  completion_waiter waiting[2];
  for (completion_waiter& waiter : waiting)
    waiter.on_complete = [](completion_waiter&, errc) noexcept {};
  completion c = s.completion();
  completion_queue& queue = *completion_access::queue(c);
  EXPECT_TRUE(add_waiter(queue, completion_access::ticket(c), waiting[0]));
  counts_queries = true;
  queries_made = 0;
  for (int i = 1; i < points; ++i) {
    c = s.completion();
    EXPECT_TRUE(add_waiter(queue, completion_access::ticket(c), waiting[i % 2]));
    EXPECT_TRUE(cancel_wait(queue, waiting[(i + 1) % 2]));
  }
  counts_queries = false;
  EXPECT_TRUE(cancel_wait(queue, waiting[(points - 1) % 2]));
  return queries_made;
}

// No other thread queries the older points, which may be complete. This thread skips its query only
// while the reactor's thread is querying the queue, which is not always the case for a new stream.
TEST_F(CompletionQueueRecording, RecordingQueriesEventsOlderThanTheOldestAwaitedOne) {
  constexpr int rounds = 100;
  int queries = 0;
  for (int i = 0; i < rounds && queries == 0; ++i) {
    const stream held_one{device{}};
    gate held{held_one};
    queries = queries_while_moving_on(held_one);
  }
  EXPECT_GE(queries, 1);
}

TEST(CompletionQueueBesidePoller, ACompletionQueueKeepsFewEventsUntilThePollerPolls) {
  constexpr int burst = 2'000;
  constexpr int few = 200;
  const fault_table calls;
  const auto live_events = [&] {
    return calls.count(&driver_table::cuEventCreate) -
           calls.count(&driver_table::cuEventDestroy_v2);
  };
  const device gpu;
  completion_poller poller{gpu};
  const stream s{gpu};
  std::atomic<int> resumed{0};
  gate held{s};
  await(s.completion(), resumed);
  held.open();
  s.sync();
  const int before = live_events();
  for (int i = 0; i < burst; ++i) static_cast<void>(s.completion());
  s.sync();
  for (int i = 0; i < burst; ++i) static_cast<void>(s.completion());
  EXPECT_LE(live_events() - before, burst + few);
  while (resumed == 0) poller.poll();
}

}  // namespace
}  // namespace weir::detail
