// SPDX-License-Identifier: Apache-2.0
// stream_order_test.cpp - the order of work: within a stream, between streams, and with the default
// streams.
#include <weir/device/context.hpp>
#include <weir/event/event.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::gate;
using test::share_hardware_queue;

class StreamOrder : public ::testing::Test {
 protected:
  // Sets one word when the stream reaches this operation. The host reads it without a driver call.
  void mark(stream_ref s, std::size_t which, std::uint32_t value = 1) {
    fill(s, words.data() + which, 1, value);
  }
  std::uint32_t seen(std::size_t which) { return std::atomic_ref{words[which]}.load(); }

  void SetUp() override {
    for (std::uint32_t& word : words) word = 0;
  }

  device gpu;
  context_scope current{gpu};  // for the default streams
  stream a{gpu};
  stream b{gpu};
  pinned_buffer<std::uint32_t> words{64};
};

TEST_F(StreamOrder, WorkSubmittedByAnyThreadRunsInStreamOrder) {
  buffer<std::uint32_t> there{a, 1};  // a GPU's driver blocks for host-to-host copies
  gate held{a};
  mark(a, 0, 1);
  std::thread{[&] { mark(a, 0, 2); }}.join();
  copy(a, std::span{words.data(), 1}, there);
  copy(a, there, std::span{words.data() + 1, 1});
  mark(a, 0, 3);
  held.open();
  a.sync();
  EXPECT_EQ(seen(1), 2u);
  EXPECT_EQ(seen(0), 3u);
}

TEST_F(StreamOrder, IndependentStreamsDoNotWaitForEachOther) {
  gate held{a};
  mark(a, 0);
  mark(b, 1);
  b.sync();
  EXPECT_EQ(seen(1), 1u);
  EXPECT_EQ(seen(0), 0u);
  EXPECT_FALSE(a.done());
}

// Rule 33: the wait does not block the host. It blocks later work of the stream.
TEST_F(StreamOrder, AWaitBlocksLaterWorkAndNotTheHost) {
  gate held{a};
  const event e = a.record();
  mark(b, 0);
  b.wait(e);
  mark(b, 1);
  const event behind = b.record();
  EXPECT_FALSE(behind.done());
  EXPECT_EQ(seen(1), 0u);
  held.open();
  behind.sync();
  EXPECT_EQ(seen(1), 1u);
}

// Rule 42: done() makes the results visible to the host like a wait.
TEST_F(StreamOrder, DoneMakesTheResultsVisibleToTheHost) {
  for (std::uint32_t round = 1; round <= 20; ++round) {
    mark(a, 0, round);
    copy(a, words.data(), words.data() + 1, 1);
    while (!a.done()) std::this_thread::yield();
    ASSERT_EQ(words[1], round);
  }
}

// Rule 34.
TEST_F(StreamOrder, AWaitForAnUnrecordedEventDoesNotBlock) {
  const event never{gpu};
  b.wait(never);
  gate held{a};
  a.record(never);  // a later record does not change earlier waits
  mark(b, 0);
  b.sync();
  EXPECT_EQ(seen(0), 1u);
}

// Rules 35 and 56: a wait binds to the record that the event held when the wait was enqueued.
TEST_F(StreamOrder, ALaterRecordDoesNotExtendAnEarlierWait) {
  stream c{gpu};
  gate first{a};
  const event e = a.record();
  b.wait(e);
  mark(b, 0);
  gate second{c};
  c.record(e);
  first.open();
  b.sync();
  EXPECT_EQ(seen(0), 1u);
  EXPECT_FALSE(e.done());
  second.open();
  e.sync();
}

// Rule 37.
TEST_F(StreamOrder, AWaitForAStreamCoversEarlierWorkOnly) {
  gate first{a};
  b.wait(a);
  mark(b, 0);
  const event behind = b.record();
  EXPECT_FALSE(behind.done());
  first.open();
  a.sync();
  gate later{a};
  behind.sync();
  EXPECT_EQ(seen(0), 1u);
  EXPECT_FALSE(a.done());
}

// Rule 40.
TEST_F(StreamOrder, AStreamThatWaitsForItselfDoesNotBlock) {
  gate held{a};
  {
    const detail::fault_table calls;
    a.wait(a);
    EXPECT_EQ(calls.count_all(), 0);
  }
  mark(a, 0);
  held.open();
  a.sync();
  EXPECT_EQ(seen(0), 1u);
}

// Rule 39: threads may wait for one stream concurrently.
TEST_F(StreamOrder, ThreadsMayWaitForOneStreamAtOnce) {
  constexpr std::size_t threads = 4;
  constexpr int rounds = 50;
  std::vector<stream> streams;
  for (std::size_t i = 0; i < threads; ++i) streams.emplace_back(gpu);
  std::atomic<int> early{0};
  for (int round = 0; round < rounds; ++round) {
    gate held{a};
    std::vector<std::thread> pool;
    for (std::size_t i = 0; i < threads; ++i) {
      pool.emplace_back([&, i] {
        streams[i].wait(a);
        if (streams[i].done()) ++early;
      });
    }
    for (std::thread& t : pool) t.join();
    held.open();
    for (stream& s : streams) s.sync();
  }
  EXPECT_EQ(early, 0);
}

// Rule 45, first part: a non-blocking stream and the legacy stream do not wait for each other.
TEST_F(StreamOrder, NonBlockingStreamsAreNotOrderedByTheLegacyStream) {
  const stream_ref legacy = stream_ref::legacy();
  // The legacy stream already has a hardware queue, which a new stream may share.
  std::vector<stream> made;
  do {
    made.emplace_back(gpu);
    ASSERT_LE(made.size(), 64u) << "all streams share the legacy stream's queue, or wait for it";
  } while (share_hardware_queue(legacy, made.back()));
  const stream& apart = made.back();
  gate held{apart};
  mark(legacy, 0);
  legacy.sync();
  EXPECT_EQ(seen(0), 1u);
  held.open();
  apart.sync();
  gate legacy_held{legacy};
  mark(apart, 1);
  apart.sync();
  EXPECT_EQ(seen(1), 1u);
  legacy_held.open();
  legacy.sync();
}

// Rule 45, second part: a blocking stream and the legacy stream wait for each other.
TEST_F(StreamOrder, BlockingStreamsAndTheLegacyStreamWaitForEachOther) {
  const stream blocking{gpu, {.kind = stream_kind::blocking}};
  const stream_ref legacy = stream_ref::legacy();
  {
    gate held{blocking};
    mark(legacy, 0);
    const event behind = legacy.record();
    EXPECT_FALSE(behind.done());
    EXPECT_EQ(seen(0), 0u);
    held.open();
    behind.sync();
    EXPECT_EQ(seen(0), 1u);
  }
  gate held{legacy};
  mark(blocking, 1);
  EXPECT_FALSE(blocking.done());
  EXPECT_EQ(seen(1), 0u);
  held.open();
  blocking.sync();
  EXPECT_EQ(seen(1), 1u);
}

// One handle stands for another stream on each thread.
TEST_F(StreamOrder, EachThreadHasItsOwnPerThreadStream) {
  const stream_ref mine = stream_ref::per_thread();
  gate held{mine};
  unsigned long long other_id = 0;
  // Threads whose stream shares a hardware queue with this thread's keep running, so that the next
  // thread's stream gets another queue.
  std::atomic<bool> is_apart{false};
  std::latch has_ended{1};
  std::vector<std::jthread> others;
  while (!is_apart && others.size() < 64) {
    std::latch has_looked{1};
    others.emplace_back([&] {
      const context_scope also_here{gpu};
      mark(stream_ref::per_thread(), 0);
      other_id = stream_ref::per_thread().id();
      is_apart = stream_ref::per_thread().record().sync_for(std::chrono::milliseconds{200});
      has_looked.count_down();
      has_ended.wait();
    });
    has_looked.wait();
  }
  EXPECT_TRUE(is_apart) << "all threads' streams wait for this one's, or share its queue";
  EXPECT_EQ(seen(0), 1u);
  EXPECT_NE(other_id, mine.id());
  EXPECT_FALSE(mine.done());
  held.open();
  mine.sync();
  has_ended.count_down();
}

// Rule 59: a wait stays valid when its event and the recorded stream are destroyed.
TEST_F(StreamOrder, AWaitOutlivesItsEventAndTheRecordedStream) {
  auto gone = std::make_unique<stream>(gpu);
  gate held{*gone};
  {
    const event e = gone->record();
    b.wait(e);
  }
  gone.reset();
  mark(b, 0);
  EXPECT_FALSE(b.done());
  EXPECT_EQ(seen(0), 0u);
  held.open();
  b.sync();
  EXPECT_EQ(seen(0), 1u);
}

// Rule 1.
TEST_F(StreamOrder, ADestroyedStreamFinishesItsWork) {
  auto gone = std::make_unique<stream>(gpu);
  gate held{*gone};
  mark(*gone, 0);
  const event e = gone->record();
  gone.reset();
  EXPECT_FALSE(e.done());
  held.open();
  e.sync();
  EXPECT_EQ(seen(0), 1u);
}

TEST_F(StreamOrder, DestroyingAnIdleStreamAddsNoWorkToTheLegacyStream) {
  const stream_ref legacy = stream_ref::legacy();
  legacy.sync();
  for (int i = 0; i < 20; ++i) {
    stream idle{gpu, {.kind = stream_kind::blocking}};
    idle.close();
    ASSERT_TRUE(legacy.done()) << "an idle stream adds no work";
    stream busy{gpu, {.kind = stream_kind::blocking}};
    mark(busy, 0);
    busy.close();
    legacy.sync();
    ASSERT_TRUE(legacy.done()) << "all work is done";
  }
}

TEST_F(StreamOrder, OneWaitJoinsManyStreamsOrEvents) {
  std::vector<stream> many;
  for (int i = 0; i < 3; ++i) many.emplace_back(gpu);
  const auto expect_waits = [&](const auto& wait_for_all) {
    gate held{many[2]};
    wait_for_all();
    EXPECT_FALSE(a.done());
    held.open();
    a.sync();
  };
  expect_waits([&] { a.wait(many); });
  expect_waits([&] { a.wait({b, many[2]}); });
  expect_waits([&] {
    const std::vector<stream_ref> refs{many.begin(), many.end()};
    a.wait(std::span{refs});
  });
  expect_waits([&] {
    std::vector<event> marks;
    for (const stream& each : many) marks.push_back(each.record());
    a.wait(marks);
  });
  a.wait(std::vector<event>{});
}

}  // namespace
}  // namespace weir
