// SPDX-License-Identifier: Apache-2.0
// capture_allowed_test.cpp - calls that docs/guide/capture.md allows during a capture: they
// succeed, and the capture stays valid.
#include <weir/device/green_context.hpp>
#include <weir/device/peer_access.hpp>
#include <weir/event/timer.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/graph_nodes.hpp>
#include <weir/graph/nodes/conditional_node.hpp>
#include <weir/memory/ipc_pool.hpp>
#include <weir/memory/managed_buffer.hpp>
#include <weir/memory/managed_memory.hpp>
#include <weir/memory/memory_pool.hpp>
#include <weir/stream/current_stream.hpp>
#include <weir/stream/stream_attributes.hpp>
#include <weir/stream/stream_pool.hpp>
#include <weir/sync/wait_word.hpp>

#include <functional>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "capture_fixture.hpp"
#include "support/errors.hpp"

namespace weir {
namespace {

using test::result_of;

class CaptureAllowed : public test::capture_fixture {
 protected:
  // Makes the call during a capture of each mode, on the capturing thread and on another one.
  void expect_capture_stays_valid(const std::function<void()>& call) {
    for (const auto mode :
         {capture_mode::global, capture_mode::own_thread, capture_mode::relaxed}) {
      SCOPED_TRACE(static_cast<int>(mode));
      const graph g = capture(s,
                              [&] {
                                fill(s, x, 1);
                                call();
                                std::thread{call}.join();
                              },
                              {.mode = mode});
      EXPECT_EQ(g.node_count(), 1u);
    }
  }
};

TEST_F(CaptureAllowed, StreamsAndEventsCanBeCreatedAndQueriedDuringACapture) {
  expect_capture_stays_valid([&] {
    const stream made{gpu};
    const stream blocking{gpu, {.kind = stream_kind::blocking}};
    const event mark{gpu};
    static_cast<void>(s.id());
    static_cast<void>(s.device());
    static_cast<void>(s.priority());
    static_cast<void>(s.is_blocking());
    EXPECT_EQ(capture_info_of(s).frontier.size(), 1u);
    for (const stream_ref each : {s.ref(), t.ref()}) {
      const stream_attributes of{each};
      of.set_sync_policy(sync_policy::yield);
      EXPECT_EQ(of.sync_policy(), sync_policy::yield);
    }
  });
}

TEST_F(CaptureAllowed, APoolCanLeaseAStreamDuringACapture) {
  const stream_pool pool{gpu};
  expect_capture_stays_valid([&] {
    const stream_lease leased = pool.acquire();
    buffer<int> own{
        leased, 100};  // a later lease may be another stream, which is not ordered after this one
    fill(leased, own, 1);
  });
}

TEST_F(CaptureAllowed, DevicesAndContextsCanBeQueriedDuringACapture) {
  expect_capture_stays_valid([&] {
    static_cast<void>(gpu.memory());
    static_cast<void>(gpu.attribute(device_attribute::multiprocessor_count));
    static_cast<void>(gpu.priorities());
    const context_scope current{gpu.primary_context()};
    EXPECT_EQ(current_context(), gpu.primary_context());
    static_cast<void>(stream_ref::legacy().context());
    fill(stream_ref::legacy(), y, 1);
  });
}

TEST_F(CaptureAllowed, AGreenContextCanBeCreatedDuringACapture) {
  expect_capture_stays_valid([&] {
    const green_context part{sm_resource::query(gpu).split(1, 16).groups.at(0)};
    const stream in_part{part};
    static_cast<void>(part.multiprocessors());
  });
}

TEST_F(CaptureAllowed, ManagedMemoryCanBePrefetchedOutsideTheCapturedStreamOnly) {
  if (gpu.attribute(device_attribute::concurrent_managed_access) == 0)
    GTEST_SKIP() << "no concurrent access";
  const managed_buffer<int> memory{1000};
  expect_capture_stays_valid([&] {
    prefetch(t, memory, gpu);
    attach(t, memory, attachment::global);
    advise(memory, memory_advice::read_mostly);
    static_cast<void>(state_of(memory));
  });
  const graph g = capture(s, [&] {
    EXPECT_EQ(result_of([&] { prefetch(s, memory, gpu); }), errc::stream_capture_unsupported);
    EXPECT_EQ(result_of([&] { attach(s, memory, attachment::global); }),
              errc::stream_capture_unsupported);
  });
  EXPECT_EQ(g.node_count(), 0u);
}

TEST_F(CaptureAllowed, AWaitWordCanBeCreatedDuringACapture) {
  expect_capture_stays_valid([] { const wait_word<unsigned> made{1}; });
}

TEST_F(CaptureAllowed, OtherGraphsCanBeEditedUpdatedAndLaunchedDuringACapture) {
  graph other;
  const fill_node node = other.add(fill_parameters{y, 1});
  graph_exec run = other.instantiate();
  expect_capture_stays_valid([&] {
    graph made;
    made.remove(made.add(fill_parameters{y, 2}));
    made.add(child_graph_parameters{other});
    made.tag(made.nodes().at(0), "a");
    const graph copied = made.clone();
    EXPECT_EQ(copied.nodes().size(), 1u);
    EXPECT_FALSE(copied.dot().empty());
    run.set(node, fill_parameters{y, 3});
    run.disable(node);
    run.enable(node);
    EXPECT_TRUE(run.update(other));
    run.upload(t);
    run.launch(t);
  });
  t.sync();  // weir does not track that the launches use y
}

// A call that docs/guide/capture.md leaves to the driver is refused, and the capture stays valid.
TEST_F(CaptureAllowed, RemovingANodeOfTheCapturedGraphIsRefused) {
  const graph g = capture(s, [&](capture_scope& scope) {
    fill(s, x, 1);
    EXPECT_EQ(result_of([&] { scope.graph().remove(scope.graph().nodes().at(0)); }),
              errc::illegal_state);
  });
  EXPECT_EQ(g.node_count(), 1u);
}

TEST_F(CaptureAllowed, ATimerSectionOnACapturingStreamIsRefused) {
  timings times;
  const graph g = capture(s, [&] {
    EXPECT_EQ(result_of([&] {
                const timer section{times, "a", s};
              }),
              errc::stream_capture_unsupported);
  });
  EXPECT_EQ(g.node_count(), 0u);
}

}  // namespace
}  // namespace weir
