// SPDX-License-Identifier: Apache-2.0
// thread_event_test.cpp - threads return the events that they keep, also if late destructors use
// them.
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/stream.hpp>

#include <pthread.h>

#include <optional>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "support/fault_table.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;

constexpr int threads = 30;

// Waits for one stream in the other one. The thread keeps an event for that.
struct waits_at_end {
  waits_at_end(stream_ref waiter, stream_ref waited) noexcept : s{waiter}, t{waited} {}
  waits_at_end(const waits_at_end&) = delete;
  waits_at_end& operator=(const waits_at_end&) = delete;
  ~waits_at_end() { s.wait(t); }
  stream_ref s;
  stream_ref t;
};

class ThreadEvent : public ::testing::Test {
 protected:
  // Returns how many events the driver creates for threads that run the body.
  template <class Body>
  static int events_created(const Body& body) {
    for (int i = 0; i < 3; ++i) std::thread{body}.join();  // fills the pool of events
    const fault_table calls;
    for (int i = 0; i < threads; ++i) std::thread{body}.join();
    return calls.count(&driver_table::cuEventCreate);
  }

  device gpu;
  stream s{gpu};
  stream t{gpu};
};

TEST_F(ThreadEvent, AThreadReturnsItsEventsAfterThreadLocalDestructors) {
  EXPECT_EQ(events_created([&] {
              thread_local std::optional<waits_at_end> late;
              late.emplace(s, t);
              t.wait(s);
            }),
            0);
}

// The destructors of thread-specific data run after those of thread-local objects.
TEST_F(ThreadEvent, AThreadReturnsItsEventsAfterDestructorsOfThreadSpecificData) {
  pthread_key_t key{};
  ASSERT_EQ(pthread_key_create(&key, [](void* late) { delete static_cast<waits_at_end*>(late); }),
            0);
  EXPECT_EQ(events_created([&] {
              pthread_setspecific(key, new waits_at_end{s, t});
              t.wait(s);
            }),
            0);
  pthread_key_delete(key);
}

TEST_F(ThreadEvent, AThreadLocalBufferOfTwoStreamsCostsNoEventPerThread) {
  EXPECT_EQ(events_created([&] {
              thread_local std::optional<buffer<unsigned>> scratch;
              scratch.emplace(s, 100);
              fill(s, *scratch, 1u);
              t.wait(s);
              fill(t, *scratch, 2u);
            }),
            0);
}

}  // namespace
}  // namespace weir
