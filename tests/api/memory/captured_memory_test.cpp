// SPDX-License-Identifier: Apache-2.0
// captured_memory_test.cpp - buffers that a capture allocates: freed in the capture or later, and
// what is freed then.
#include <weir/capture/capture.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/memory_pool.hpp>
#include <weir/stream/host_function.hpp>

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "captured_memory_fixture.hpp"
#include "driver/table.hpp"
#include "support/closure_probe.hpp"
#include "support/errors.hpp"

namespace weir {
namespace {

using detail::driver;
using test::failure_of;
using test::result_of;

using CapturedMemory = test::captured_memory_fixture;

// Memory that the capture allocated is freed in it, as by close(), so the graph can be launched
// repeatedly.
TEST_F(CapturedMemory, ABufferDestroyedInACaptureIsFreedByTheGraph) {
  const stream t{gpu};
  const graph g = capture(s, [&] {
    buffer<int> x{s, size};
    fill(s, x, 3);
    t.wait(s);
    copy(t, x, host);
    s.wait(t);
  });
  EXPECT_EQ(g.node_count(), 4u);
  EXPECT_EQ(g.nodes().back().kind(), node_kind::free);
  const graph_exec run = g.instantiate();
  for (int i = 0; i < 2; ++i) run.launch(s);
  s.sync();
  EXPECT_EQ(host[0], 3);
  EXPECT_THROW(static_cast<void>(capture(s,
                                         [&] {
                                           const buffer<int> x{s, 10};
                                           throw 4;
                                         })),
               int);
}

// The free is not queued on a stream that has been joined already, as the stream would need another
// join.
TEST_F(CapturedMemory, ABufferOfAJoinedStreamIsFreedOnTheOriginOfTheCapture) {
  const stream t{gpu};
  const stream u{gpu};
  const auto record = [&](bool goes_on) {
    return capture(s, [&] {
      t.wait(s);
      u.wait(s);
      buffer<int> x{t, 10};
      {
        buffer<int> early{u, 10};
        fill(u, early, 3);
      }  // freed on u, which has not been joined yet
      fill(t, x, 3);
      s.wait(t);
      s.wait(u);
      if (goes_on) launch_host(s, [] {});
    });
  };
  for (const bool goes_on : {false, true}) {
    const graph g = record(goes_on);
    EXPECT_EQ(g.node_count(), goes_on ? 7u : 6u);
    EXPECT_EQ(g.nodes().back().kind(), node_kind::free);
    const graph_exec run = g.instantiate();
    for (int i = 0; i < 2; ++i) run.launch(s);
    s.sync();
  }
}

TEST_F(CapturedMemory, ABufferOfABrokenCaptureNeedsNoFree) {
  const auto failure = failure_of([&] {
    static_cast<void>(capture(s, [&] {
      const buffer<int> x{s, 10};
      EXPECT_NE(driver().cuStreamQuery(s.get()), abi::CUDA_SUCCESS);
    }));
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::stream_capture_invalidated);
}

// The buffer owns the memory that a launch allocated and frees it. The next launch allocates it
// again.
TEST_F(CapturedMemory, ABufferThatOutlivesItsCaptureOwnsTheMemoryOfALaunch) {
  optional_buffer x;
  const graph g = capture_memory(x, 4);
  const graph_exec run = g.instantiate();
  run.launch(s);
  EXPECT_EQ(first_of(*x), 4);
  EXPECT_EQ(result_of([&] { run.launch(s); }), errc::invalid_value)
      << "the memory has not been freed yet";
  x.reset();
  run.launch(s);
  auto again =
      buffer<int>::adopt(s, g.nodes().front().as<allocation_node>().memory<int>().data(), size);
  EXPECT_EQ(first_of(again), 4);
}

TEST_F(CapturedMemory, ABufferOutlivesItsExecutable) {
  optional_buffer x;
  capture_memory(x, 5).instantiate().launch(s);
  EXPECT_EQ(first_of(*x), 5);
  x->close();
}

TEST_F(CapturedMemory, ABufferIsNotFreedBeforeALaunch) {
  optional_buffer x;
  optional_buffer y;
  const graph g = capture_memory(x, 1);
  const graph h = capture_memory(y, 1);
  const graph_exec run = g.instantiate();
  x.reset();
  EXPECT_EQ(result_of([&] { y->close(); }), errc::success);
}

TEST_F(CapturedMemory, ABufferFreedByALaunchIsNotFreedAgain) {
  optional_buffer x;
  const graph g = capture_memory(x, 1);
  const graph frees = capture(s, [&] { current_memory_pool(gpu).deallocate(s, x->data()); });
  g.instantiate().launch(s);
  frees.instantiate().launch(s);
  s.sync();
}

TEST_F(CapturedMemory, AnUnlaunchedBufferUsedOnAnotherStreamIsNotFreed) {
  const stream t{gpu};
  optional_buffer x;
  {
    const graph g = capture(s, [&] {
      x.emplace(s, size);
      t.wait(s);
      fill(t, *x, 1);
      s.wait(t);
    });
    x.reset();
  }
  drain_deferred();
}

TEST_F(CapturedMemory, ABufferKeptByItsGraphIsNotFreedBeforeALaunch) {
  test::closure_stats f;
  optional_buffer x;
  {
    const graph g = capture_memory(x, 1);
    g.keep(std::pair{test::closure_probe{f}, std::move(*x)});  // destroyed after the buffer
    const graph_exec run = g.instantiate();
  }
  EXPECT_TRUE(test::is_destroyed_once(f));
}

// An owner that the graph keeps is destroyed after the last launch that can use it.
TEST_F(CapturedMemory, ABufferKeptByItsGraphIsFreedAfterTheLastLaunch) {
  test::closure_stats f;
  optional_buffer x;
  {
    const graph g = capture_memory(x, 7);
    const graph_exec run = g.instantiate();
    g.keep(std::pair{test::closure_probe{f}, std::move(*x)});
    run.launch(s);
  }
  s.sync();
  EXPECT_TRUE(test::is_destroyed_once(f));
}

// weir does not see launches that are made directly through the driver.
TEST_F(CapturedMemory, ABufferOfAReleasedGraphIsFreedIfItsMemoryExists) {
  optional_buffer x;
  graph g = capture_memory(x, 8);
  const context_scope current{gpu};
  abi::CUgraph const raw = g.release();
  abi::CUgraphExec run = nullptr;
  abi::CUDA_GRAPH_INSTANTIATE_PARAMS how = {};
  ASSERT_EQ(driver().cuGraphInstantiateWithParams(&run, raw, &how), abi::CUDA_SUCCESS);
  ASSERT_EQ(driver().cuGraphLaunch(run, s.get()), abi::CUDA_SUCCESS);
  ASSERT_EQ(driver().cuGraphExecDestroy(run), abi::CUDA_SUCCESS);
  ASSERT_EQ(driver().cuGraphDestroy(raw), abi::CUDA_SUCCESS);
  EXPECT_EQ(first_of(*x), 8);
}

}  // namespace
}  // namespace weir
