// SPDX-License-Identifier: Apache-2.0
// capture_checks_test.cpp - calls that an open capture refuses, and calls that are allowed in it
// and beside it.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/managed_buffer.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>

#include <chrono>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "api/capture/capture_registry.hpp"
#include "capture_fixture.hpp"
#include "driver/table.hpp"
#include "support/errors.hpp"

namespace weir {
namespace {

using test::result_of;
using namespace std::chrono_literals;

class CaptureChecks : public test::capture_fixture {};

// Rules 98 and 103.
TEST_F(CaptureChecks, QueriesOfACapturedStreamAreRefusedAndTheCaptureContinues) {
  for (const auto mode : {capture_mode::global, capture_mode::own_thread, capture_mode::relaxed}) {
    const graph g = capture(
        s,
        [&] {
          fork();
          for (const stream_ref captured : {s.ref(), t.ref()}) {
            EXPECT_EQ(result_of([&] { captured.sync(); }), errc::stream_capture_unsupported);
            EXPECT_EQ(result_of([&] { static_cast<void>(captured.done()); }),
                      errc::stream_capture_unsupported);
            EXPECT_EQ(captured.status(), errc::stream_capture_unsupported);
            EXPECT_EQ(result_of([&] { static_cast<void>(captured.sync_for(1ms)); }),
                      errc::stream_capture_unsupported);
          }
          const event mark = s.record();
          EXPECT_EQ(result_of([&] { mark.sync(); }), errc::captured_event);
          EXPECT_EQ(result_of([&] { static_cast<void>(mark.done()); }), errc::captured_event);
          EXPECT_EQ(mark.status(), errc::captured_event);
          EXPECT_EQ(result_of([&] { static_cast<void>(mark.sync_for(1ms)); }),
                    errc::captured_event);
          EXPECT_EQ(result_of([&] { gpu.sync(); }), errc::stream_capture_unsupported);
          EXPECT_EQ(result_of([&] { launch_host_once(s, [] {}); }),
                    errc::stream_capture_unsupported);
          s.wait(t);
        },
        {.mode = mode});
    EXPECT_EQ(g.node_count(), 1u);
  }
  expect_not_capturing();
}

// Rule 99: other streams and events can be queried in every mode and from every thread.
TEST_F(CaptureChecks, QueriesOfOtherStreamsAreAllowedDuringACapture) {
  const event before = t.record();
  for (const auto mode : {capture_mode::global, capture_mode::own_thread, capture_mode::relaxed}) {
    const graph g = capture(s,
                            [&] {
                              fill(s, x, 1);
                              const auto look = [&] {
                                fill(t, y, 2);
                                t.record(before);
                                t.sync();
                                EXPECT_TRUE(t.done());
                                EXPECT_EQ(t.status(), errc::success);
                                EXPECT_TRUE(t.sync_for(60s));
                                before.sync();
                                EXPECT_TRUE(before.done());
                                EXPECT_EQ(before.status(), errc::success);
                              };
                              look();
                              std::thread{look}.join();
                            },
                            {.mode = mode});
    EXPECT_EQ(g.node_count(), 1u);
  }
}

// An event belongs to a capture only while its last record does.
TEST_F(CaptureChecks, AnEventRecordedAgainOutsideTheCaptureCanBeQueried) {
  const event mark{gpu};
  const graph g = capture(s, [&] {
    s.record(mark);
    EXPECT_EQ(mark.status(), errc::captured_event);
    t.record(mark);
    mark.sync();
    EXPECT_TRUE(mark.done());
  });
  EXPECT_EQ(g.node_count(), 0u);
}

// A new event may get the handle of a destroyed one.
TEST_F(CaptureChecks, ADestroyedEventIsNoLongerACapturedEvent) {
  const graph g = capture(s, [&] {
    CUevent_st* handle = nullptr;
    {
      const event mark = s.record();
      handle = mark.get();
      EXPECT_TRUE(detail::is_captured_event(handle));
    }
    EXPECT_FALSE(detail::is_captured_event(handle));
  });
  EXPECT_EQ(g.node_count(), 0u);
}

// Rules 100 and 101.
TEST_F(CaptureChecks, TheLegacyStreamIsRefusedWhileABlockingStreamCaptures) {
  const context_scope current{gpu};
  const stream blocking{gpu, {.kind = stream_kind::blocking}};
  const graph g = capture(blocking, [&] {
    fill(blocking, x, 1);
    EXPECT_EQ(result_of([&] { static_cast<void>(capture_status_of(stream_ref::legacy())); }),
              errc::stream_capture_implicit);
    EXPECT_EQ(stream_ref::legacy().status(), errc::stream_capture_implicit);
    EXPECT_EQ(result_of([&] { stream_ref::legacy().sync(); }), errc::stream_capture_implicit);
  });
  EXPECT_EQ(g.node_count(), 1u);
  stream_ref::legacy().sync();
}

// Rules 115 and 116.
TEST_F(CaptureChecks, DestroyingObjectsDuringACaptureIsDeferredToItsEnd) {
  for (const bool fails : {false, true}) {
    auto other_exec =
        std::make_unique<graph_exec>(capture(s, [&] { fill(s, x, 1); }).instantiate());
    auto other_graph = std::make_unique<graph>();
    auto other_stream = std::make_unique<stream>(gpu);
    auto other_event = std::make_unique<event>(gpu);
    auto other_buffer = std::make_unique<buffer<int>>(t, 10);
    auto other_pinned = std::make_unique<pinned_buffer<int>>(10);
    begin_capture(s, {.mode = capture_mode::global});
    fill(s, x, 1);
    if (fails) fork();
    std::thread{[&] {
      other_exec.reset();
      other_graph.reset();
    }}.join();
    other_stream.reset();
    other_event.reset();
    other_buffer.reset();
    other_pinned.reset();
    drain_deferred();
    EXPECT_EQ(capture_status_of(s), capture_status::active);
    EXPECT_GT(deferred_count(), 0u) << "frees are deferred to the end of the capture";
    EXPECT_EQ(result_of([&] { static_cast<void>(end_capture(s)); }),
              fails ? errc::stream_capture_unjoined : errc::success);
    drain_deferred();
    EXPECT_EQ(deferred_count(), 0u);
  }
}

// Rule 127.
TEST_F(CaptureChecks, AGraphUnderCaptureCannotBeInstantiated) {
  graph_exec exec = capture(s, [&] { fill(s, x, 1); }).instantiate();
  const graph g = capture(s, [&](capture_scope& scope) {
    fill(s, x, 1);
    EXPECT_EQ(result_of([&] { static_cast<void>(scope.graph().instantiate()); }),
              errc::illegal_state);
    EXPECT_EQ(result_of([&] { static_cast<void>(exec.update(scope.graph())); }),
              errc::illegal_state);
  });
  EXPECT_TRUE(exec.update(g));
}

TEST_F(CaptureChecks, OtherGraphsCanBeLaunchedOutsideTheCapturedStreamOnly) {
  fill(t, y, 0);
  const graph other = capture(t, [&] { fill(t, y, 9); });
  const graph g =
      capture(s,
              [&] {
                fill(s, x, 1);
                const graph_exec exec = other.instantiate();
                EXPECT_EQ(result_of([&] { exec.launch(s); }), errc::stream_capture_unsupported);
                EXPECT_EQ(result_of([&] { exec.upload(s); }), errc::stream_capture_unsupported);
                exec.launch(t);
                t.sync();
              },
              {.mode = capture_mode::global});
  EXPECT_EQ(g.node_count(), 1u);
  copy(t, y, host);
  t.sync();
  EXPECT_EQ(host[0], 9);
}

// Rule 170: allocating host memory during a capture leaves the capture valid.
TEST_F(CaptureChecks, HostMemoryCanBeAllocatedDuringACapture) {
  for (const auto mode : {capture_mode::global, capture_mode::own_thread}) {
    const graph g = capture(s,
                            [&] {
                              fill(s, x, 1);
                              const pinned_buffer<int> pinned{10};
                              const managed_buffer<int> managed{10};
                              const buffer<int> beside{t, 10};
                              std::thread{[] { const pinned_buffer<int> from_another{10}; }}.join();
                            },
                            {.mode = mode});
    EXPECT_EQ(g.node_count(), 1u);
  }
}

}  // namespace
}  // namespace weir
