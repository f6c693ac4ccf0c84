// SPDX-License-Identifier: Apache-2.0
// capture_threads_test.cpp - captures and threads: which thread may end a capture, concurrent
// captures, and the capture mode of a thread.
#include <weir/capture/capture.hpp>
#include <weir/capture/capture_to.hpp>
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/host_function.hpp>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "api/core/call_restrictions.hpp"
#include "capture_fixture.hpp"
#include "support/errors.hpp"
#include "support/table_override.hpp"

namespace weir {
namespace {

using test::result_of;

class CaptureThreads : public test::capture_fixture {};

// Rule 95.
TEST_F(CaptureThreads, AnotherThreadCanEndARelaxedCaptureOnly) {
  for (const auto mode : {capture_mode::global, capture_mode::own_thread, capture_mode::relaxed}) {
    begin_capture(s, {.mode = mode});
    errc answer = errc::success;
    std::thread{[&] { answer = result_of([&] { static_cast<void>(end_capture(s)); }); }}.join();
    if (mode == capture_mode::relaxed) {
      EXPECT_EQ(answer, errc::success);
    } else {
      EXPECT_EQ(answer, errc::stream_capture_wrong_thread);
      EXPECT_EQ(capture_status_of(s), capture_status::active);
      static_cast<void>(end_capture(s));
    }
  }
}

// The driver lets no other thread end such a capture, so its end discards it.
TEST_F(CaptureThreads, TheCaptureOfAnEndedThreadIsDiscardedByItsEnd) {
  for (const auto mode : {capture_mode::global, capture_mode::own_thread}) {
    std::thread{[&] {
      begin_capture(s, {.mode = mode});
      fill(s, x, 1);
    }}.join();
    const auto failure = test::failure_of([&] { static_cast<void>(end_capture(s)); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::stream_capture_wrong_thread);
    EXPECT_TRUE(message_contains(*failure, "that thread has ended")) << failure->what();
    expect_not_capturing();
  }
}

// Rule 102.
TEST_F(CaptureThreads, TwoThreadsCanCaptureConcurrently) {
  const auto record = [&](stream_ref in, buffer<int>& into, int nodes) {
    return capture(in, [&] {
      for (int i = 0; i < nodes; ++i) fill(in, into, i);
    });
  };
  std::optional<graph> other;
  std::thread beside{[&] { other.emplace(record(t, y, 20)); }};
  const graph mine = record(s, x, 30);
  beside.join();
  EXPECT_EQ(mine.node_count(), 30u);
  EXPECT_EQ(other->node_count(), 20u);
}

// Repeats concurrent captures with forks, records, queries and destructions: no thread affects
// another one's capture.
TEST_F(CaptureThreads, ManyThreadsCanCaptureConcurrently) {
  constexpr int threads = 4;
  constexpr int captures = 50;
  std::atomic<int> whole{0};
  auto in_use = std::make_shared<int>();
  const auto work = [&](int seed) {
    const stream mine{gpu};
    const stream helper{gpu};
    const stream beside{gpu};
    const auto mode = seed % 2 == 0 ? capture_mode::own_thread : capture_mode::relaxed;
    for (int i = 0; i < captures; ++i) {
      buffer<int> memory{mine, 16};
      graph g = capture(mine,
                        [&](capture_scope& scope) {
                          fill(mine, memory, i);
                          const event mark = mine.record();
                          helper.wait(mark);
                          launch_host(helper, [in_use] {});
                          EXPECT_EQ(mark.status(), errc::captured_event);
                          beside.sync();
                          const buffer<int> goes{beside, 16};
                          mine.wait(helper);
                          scope.keep(std::pair{std::move(memory), in_use});
                        },
                        {.mode = mode});
      graph_exec exec = g.instantiate();
      exec.launch(beside);
      if (g.node_count() == 2u) ++whole;
    }
    beside.sync();
  };
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(work, i);
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(whole, threads * captures);
  // The graphs' kept objects are destroyed when their last launches have finished: wait here, so
  // that this does not happen in the next test.
  for (const std::weak_ptr<int> last = std::exchange(in_use, nullptr); !last.expired();)
    std::this_thread::yield();
  drain_deferred();
  EXPECT_EQ(capture_status_of(s), capture_status::none);
  EXPECT_EQ(detail::active_capture_count, 0);
}

// Another thread synchronizes the context of the stream just before the driver ends a capture.
class SyncDuringTheEndOfACapture : public test::capture_fixture {
 protected:
  static inline const stream* captured = nullptr;
  static inline errc answer = errc::unknown;

  SyncDuringTheEndOfACapture() {
    captured = &s;
    answer = errc::unknown;
  }

  const test::table_override table{[](detail::driver_table& t) {
    t.cuStreamEndCapture = [](abi::CUstream stream, abi::CUgraph* graph) {
      std::thread{[] { answer = result_of([] { captured->context().sync(); }); }}.join();
      return test::table_override::original().cuStreamEndCapture(stream, graph);
    };
  }};
};

TEST_F(SyncDuringTheEndOfACapture, ASyncDoesNotBreakTheCapture) {
  const graph g = capture(s, [&] { fill(s, x, 1); });
  EXPECT_EQ(answer, errc::success);
  EXPECT_EQ(g.node_count(), 1u);
}

TEST_F(SyncDuringTheEndOfACapture, ASyncDoesNotDestroyTheGraphOfACancelledCapture) {
  graph g;
  EXPECT_THROW(capture_to(s, g,
                          [&] {
                            fill(s, x, 1);
                            throw 4;
                          }),
               int);
  EXPECT_EQ(answer, errc::success);
  EXPECT_EQ(g.node_count(), 0u);
}

// Rule 105.
TEST_F(CaptureThreads, TheThreadCaptureModeIsRestoredAtTheEndOfItsScope) {
  const auto mode_now = [] {
    const thread_capture_mode look{capture_mode::relaxed};
    return look.previous();
  };
  const capture_mode before = mode_now();
  try {
    const thread_capture_mode outer{capture_mode::relaxed};
    EXPECT_EQ(outer.previous(), before);
    const thread_capture_mode inner{capture_mode::own_thread};
    EXPECT_EQ(inner.previous(), capture_mode::relaxed);
    EXPECT_EQ(mode_now(), capture_mode::own_thread);
    throw std::runtime_error{"out"};
  } catch (const std::runtime_error&) {
    EXPECT_EQ(mode_now(), before);
  }
}

}  // namespace
}  // namespace weir
