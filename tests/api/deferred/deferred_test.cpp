// SPDX-License-Identifier: Apache-2.0
// deferred_test.cpp - deferred destruction: in host functions, in captures, and of memory in use.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/memory_pool.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "api/core/call_restrictions.hpp"
#include "support/fault_table.hpp"
#include "support/foreign_capture.hpp"
#include "support/gate.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using detail::driver;
using detail::driver_table;
using detail::fault_table;
using test::gate;
using test::unhandled_errors;

class Deferred : public ::testing::Test {
 protected:
  Deferred() { drain_deferred(); }

  device gpu;
  stream s{gpu};
};

TEST_F(Deferred, DrainingReturnsAtOnceWithoutDeferredTasks) {
  EXPECT_EQ(deferred_count(), 0u);
  drain_deferred();
  EXPECT_EQ(deferred_count(), 0u);
}

// Rule 75: an object that is destroyed in a host function makes its driver call on another thread.
TEST_F(Deferred, DestructionsInHostFunctionsAreDeferred) {
  auto mark = std::make_unique<event>(gpu);
  auto memory = std::make_unique<buffer<int>>(s, 10);
  auto owner = std::make_unique<stream>(gpu);
  const fault_table calls;
  std::size_t left = 0;
  launch_host(s, [&] {
    const detail::scoped_active_capture capture;  // so that the frees are not done meanwhile
    memory.reset();
    left = deferred_count();
    mark.reset();
    owner.reset();
    drain_deferred();  // returns at once in a host function
  });
  s.sync();
  drain_deferred();
  EXPECT_GE(left, 1u);
  EXPECT_EQ(deferred_count(), 0u);
  EXPECT_EQ(calls.count(&driver_table::cuEventDestroy_v2), 1);
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeAsync), 1);
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 1);
}

// Rule 115: a free would break the capture, so it is deferred to the end of the capture.
TEST_F(Deferred, FreesAreDeferredToTheEndOfTheCapture) {
  std::optional<buffer<int>> memory{std::in_place, s, 10};
  std::optional<pinned_buffer<int>> pinned{std::in_place, 10};
  std::optional<context> kept{gpu};
  const fault_table calls;
  {
    const detail::scoped_active_capture capture;
    memory.reset();
    pinned.reset();
    kept.reset();
    EXPECT_EQ(deferred_count(), 3u);
    drain_deferred();  // returns, as the frees are deferred until the capture ends
    EXPECT_EQ(deferred_count(), 3u);
    EXPECT_EQ(calls.count(&driver_table::cuMemFreeAsync), 0);
    EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 0);
    EXPECT_EQ(calls.count(&driver_table::cuDevicePrimaryCtxRelease_v2), 0);
  }
  drain_deferred();
  EXPECT_EQ(deferred_count(), 0u);
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeAsync), 1);
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 1);
  EXPECT_EQ(calls.count(&driver_table::cuDevicePrimaryCtxRelease_v2), 1);
}

// Destroying a stream or an event does not break a capture.
TEST_F(Deferred, StreamsAndEventsAreDestroyedAtOnceDuringACapture) {
  const detail::scoped_active_capture capture;
  const fault_table calls;
  { const event e{gpu}; }
  { const stream t{gpu}; }
  EXPECT_EQ(deferred_count(), 0u);
  EXPECT_EQ(calls.count(&driver_table::cuEventDestroy_v2), 1);
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 1);
}

// The reclaimer thread breaks no capture that was started directly through the driver, in any mode.
TEST_F(Deferred, FreesOnTheReclaimerThreadBreakNoCapture) {
  std::optional<pinned_buffer<int>> pinned{std::in_place, 10};
  stream t{gpu};
  fill(t, *pinned, 1);
  t.sync();
  test::foreign_capture foreign{s, abi::CU_STREAM_CAPTURE_MODE_GLOBAL};
  const fault_table calls;
  pinned.reset();
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 1);
  EXPECT_TRUE(foreign.end());
}

// An event recorded on a capturing stream would belong to the capture, and querying it would break
// the capture.
TEST_F(Deferred, MemoryUsedByACapturingStreamIsFreedAfterTheCapture) {
  std::optional<pinned_buffer<int>> pinned{std::in_place, 10};
  fill(s, *pinned, 1);
  s.sync();
  test::foreign_capture foreign{s, abi::CU_STREAM_CAPTURE_MODE_GLOBAL};
  const fault_table calls;
  pinned.reset();
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 0);
  EXPECT_EQ(deferred_count(), 1u);
  EXPECT_TRUE(foreign.end());
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 1);
}

// N9: destroying the stream that began a capture would end the capture without an error.
TEST_F(Deferred, ACapturingStreamIsDestroyedAfterItsCapture) {
  for (const bool by_close : {false, true}) {
    std::optional<stream> owner{std::in_place, gpu};
    CUstream_st* const handle = owner->get();
    test::foreign_capture foreign{stream_ref{handle}};
    const fault_table calls;
    if (by_close) owner->close();
    owner.reset();
    drain_deferred();  // returns, as the stream is destroyed after the capture
    EXPECT_EQ(deferred_count(), 1u);
    EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 0);
    EXPECT_TRUE(foreign.end());
    drain_deferred();
    EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 1);
  }
}

// The captured nodes of the destroyed stream stay in the graph.
TEST_F(Deferred, AStreamThatJoinedACaptureMayBeDestroyedBeforeItsEnd) {
  test::foreign_capture foreign{s};
  const fault_table calls;
  {
    const stream joined{gpu};
    joined.wait(s);
    launch_host(joined, [] {});
    s.wait(joined);
  }
  abi::CUgraph const graph = foreign.take();
  ASSERT_NE(graph, nullptr);
  std::size_t nodes = 0;
  EXPECT_EQ(driver().cuGraphGetNodes(graph, nullptr, &nodes), abi::CUDA_SUCCESS);
  EXPECT_EQ(nodes, 1u);
  EXPECT_EQ(driver().cuGraphDestroy(graph), abi::CUDA_SUCCESS);
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 1);
}

// A broken capture yields no graph, so its stream is destroyed at once.
TEST_F(Deferred, AStreamInABrokenCaptureIsDestroyedAtOnce) {
  std::optional<stream> owner{std::in_place, gpu};
  ASSERT_EQ(
      driver().cuStreamBeginCapture_v2(owner->get(), abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
      abi::CUDA_SUCCESS);
  EXPECT_EQ(driver().cuStreamQuery(owner->get()), abi::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  const fault_table calls;
  owner.reset();
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 1);
}

// The capture did not allocate this memory and cannot free it, so the free is deferred to its end.
// The capturing stream cannot wait for another stream that has used the memory either.
TEST_F(Deferred, ABufferOfACapturingStreamIsFreedAfterTheCapture) {
  const memory_pool pool{gpu};
  const stream t{gpu};
  const unhandled_errors unhandled;
  for (const bool used_elsewhere : {false, true}) {
    std::optional<buffer<int>> memory{std::in_place, pool, s, 1000};
    if (used_elsewhere) fill(t, *memory, 1);
    gpu.sync();
    test::foreign_capture foreign{s};
    memory.reset();
    drain_deferred();  // returns, as the free is deferred until the capture ends
    EXPECT_EQ(deferred_count(), 1u);
    EXPECT_TRUE(foreign.end());
    drain_deferred();
    s.sync();
    EXPECT_EQ(deferred_count(), 0u);
    EXPECT_EQ(pool.usage().used, 0u);
  }
  EXPECT_EQ(unhandled.count(), 0u);
}

// A free in the capture would be a node for memory that the graph did not allocate.
TEST_F(Deferred, ABufferAllocatedOutsideTheCaptureIsFreedAfterIt) {
  const memory_pool pool{gpu};
  const unhandled_errors unhandled;
  std::optional<buffer<int>> memory{std::in_place, pool, s, 10};
  const graph g = capture(s, [&] {
    memory.reset();
    EXPECT_EQ(deferred_count(), 1u);
  });
  EXPECT_EQ(g.node_count(), 0u);
  drain_deferred();
  s.sync();
  EXPECT_EQ(pool.usage().used, 0u);
  EXPECT_EQ(unhandled.count(), 0u);
}

// weir does not track this capture and defers nothing. The driver would break the capture, unless
// the freeing thread is in relaxed capture mode.
TEST_F(Deferred, FreeingABufferBreaksNoCaptureStartedDirectlyThroughTheDriver) {
  const memory_pool pool{gpu};
  stream t{gpu};
  const unhandled_errors unhandled;
  for (const auto mode :
       {abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, abi::CU_STREAM_CAPTURE_MODE_GLOBAL}) {
    std::optional<buffer<int>> memory{std::in_place, pool, t, 1000};
    std::optional<buffer<int>> of_another_thread{std::in_place, pool, t, 1000};
    buffer<int> closed{pool, t, 1000};
    t.sync();
    test::foreign_capture foreign{s, mode};
    memory.reset();
    std::thread{[&] { of_another_thread.reset(); }}.join();
    closed.close();
    EXPECT_TRUE(foreign.end());
    t.sync();
    EXPECT_EQ(pool.usage().used, 0u);
  }
  EXPECT_EQ(unhandled.count(), 0u);
}

TEST_F(Deferred, DrainingWaitsForPinnedMemoryInUse) {
  gate held{s};
  {
    pinned_buffer<unsigned> pinned{10};
    fill(s, pinned, 1u);
  }
  EXPECT_EQ(deferred_count(), 1u);
  std::thread opener{[&] { held.open(); }};
  drain_deferred();
  opener.join();
  EXPECT_EQ(deferred_count(), 0u);
  EXPECT_TRUE(s.done());
}

TEST_F(Deferred, ManyThreadsCanDeferAndDrainConcurrently) {
  const unhandled_errors unhandled;
  gate held{s};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        pinned_buffer<unsigned> pinned{10};
        fill(s, pinned, 1u);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(deferred_count(), 80u);
  held.open();
  threads.clear();
  for (int i = 0; i < 4; ++i) threads.emplace_back([] { drain_deferred(); });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(deferred_count(), 0u);
  EXPECT_EQ(unhandled.count(), 0u);
}

}  // namespace
}  // namespace weir
