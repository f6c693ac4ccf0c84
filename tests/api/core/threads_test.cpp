// SPDX-License-Identifier: Apache-2.0
// threads_test.cpp - many threads share streams, events and buffers. The test also runs under
// ThreadSanitizer.
#include <weir/core/deferred.hpp>
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/current_stream.hpp>
#include <weir/stream/host_function.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/device_copy.hpp"
#include "support/gate.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using test::contents;
using test::gate;
using test::unhandled_errors;

class Threads : public ::testing::Test {
 protected:
  static constexpr std::size_t threads = 6;
  static constexpr int rounds = 40;

  // Runs body(i) for each i below `threads`, on threads that start together.
  template <class Body>
  static void at_once(const Body& body) {
    std::latch start{threads};
    std::vector<std::thread> all;
    for (std::size_t i = 0; i < threads; ++i) {
      all.emplace_back([&, i] {
        start.arrive_and_wait();
        body(i);
      });
    }
    for (std::thread& t : all) t.join();
  }

  ~Threads() override {
    drain_deferred();
    EXPECT_EQ(unhandled.count(), 0u);
  }

  unhandled_errors unhandled;
  device gpu;
  std::vector<stream> streams = [this] {
    std::vector<stream> made;
    for (int i = 0; i < 3; ++i) made.emplace_back(gpu);
    return made;
  }();
};

TEST_F(Threads, ThreadsCanRecordWaitAndQueryOnTheSameStreams) {
  at_once([&](std::size_t me) {
    for (int round = 0; round < rounds; ++round) {
      const stream& mine = streams[(me + static_cast<std::size_t>(round)) % streams.size()];
      const stream& other = streams[me % streams.size()];
      const event e = mine.record();
      other.wait(e);
      other.wait(mine);
      static_cast<void>(mine.done());
      static_cast<void>(e.status());
      static_cast<void>(mine.id());
      static_cast<void>(to_string(mine));
      if (round % 8 == 0) mine.sync();
      e.sync();
      EXPECT_TRUE(e.done());
    }
  });
  for (const stream& s : streams) s.sync();
}

// All threads record one event and wait for it: each wait binds to some record, and none is lost.
TEST_F(Threads, ThreadsCanShareOneEvent) {
  const event shared{gpu};
  at_once([&](std::size_t me) {
    const stream& mine = streams[me % streams.size()];
    for (int round = 0; round < rounds; ++round) {
      mine.record(shared);
      streams[(me + 1) % streams.size()].wait(shared);
      shared.sync();
      EXPECT_TRUE(shared.sync_for(std::chrono::hours{1}));
    }
  });
  for (const stream& s : streams) s.sync();
  EXPECT_TRUE(shared.done());
}

// Each thread's work runs in the thread's order, and all of it runs.
TEST_F(Threads, ThreadsCanQueueOnOneStreamInTheirOwnOrder) {
  constexpr std::uint32_t last = 100;
  pinned_buffer<std::uint32_t> words{threads};
  at_once([&](std::size_t me) {
    for (std::uint32_t value = 1; value <= last; ++value)
      fill(streams[0], words.data() + me, 1, value);
  });
  streams[0].sync();
  for (const std::uint32_t word : words) EXPECT_EQ(word, last);
}

TEST_F(Threads, HostFunctionsOfOneStreamNeverRunConcurrently) {
  int count = 0;  // functions of one stream never run concurrently
  at_once([&](std::size_t) {
    for (int round = 0; round < rounds; ++round) launch_host(streams[0], [&] { ++count; });
  });
  streams[0].sync();
  EXPECT_EQ(count, static_cast<int>(threads) * rounds);
}

TEST_F(Threads, ThreadsCanCreateAndDestroyObjectsConcurrently) {
  at_once([&](std::size_t me) {
    for (int round = 0; round < rounds; ++round) {
      const auto value = static_cast<std::uint32_t>(me * 1000 + static_cast<std::size_t>(round));
      auto mine = std::make_unique<stream>(gpu);
      std::optional<buffer<std::uint32_t>> memory{std::in_place, *mine, 256};
      fill(*mine, *memory, value);
      const stream_ref other = streams[me % streams.size()];
      other.wait(*mine);
      pinned_buffer<std::uint32_t> out{256};
      copy(other, *memory, out);
      const event copied = other.record();
      mine.reset();
      memory.reset();
      copied.sync();
      ASSERT_EQ(out[255], value);
    }
  });
}

TEST_F(Threads, ThreadsCanCopyFromOneBufferConcurrently) {
  std::optional<buffer<std::uint32_t>> shared{std::in_place, streams[0], 512};
  fill(streams[0], *shared, 42u);
  streams[0].sync();
  const buffer<std::uint32_t>& source = *shared;
  at_once([&](std::size_t) {
    const stream mine{gpu};
    for (int round = 0; round < 10; ++round) EXPECT_EQ(contents(mine, source).back(), 42u);
  });
  shared.reset();
  streams[0].sync();
}

TEST_F(Threads, EachThreadHasItsOwnCurrentStream) {
  at_once([&](std::size_t me) {
    const context_scope current{gpu};
    for (int round = 0; round < rounds; ++round) {
      stream mine{gpu};
      const stream_scope scope{mine};
      EXPECT_EQ(current_stream(), mine.ref());
      const stream_scope inner{streams[me % streams.size()]};
      EXPECT_EQ(current_stream(), streams[me % streams.size()].ref());
    }
  });
}

// The device blocks one thread and no other thread.
TEST_F(Threads, AWaitingThreadDoesNotBlockOtherThreads) {
  std::vector<event>
      marks;  // created before the gate: a driver may allocate events on an idle device only
  for (std::size_t i = 0; i < threads; ++i) marks.emplace_back(gpu);
  gate held{streams[0]};
  std::atomic<int> free{0};
  at_once([&](std::size_t me) {
    if (me == 0) {
      streams[0].sync();
      return;
    }
    for (int round = 0; round < rounds; ++round) {
      streams[1 + me % 2].record(marks[me]);
      marks[me].sync();
      EXPECT_FALSE(streams[0].done());
    }
    // The last of the other threads opens the first one's gate.
    if (++free == static_cast<int>(threads) - 1) held.open();
  });
}

}  // namespace
}  // namespace weir
