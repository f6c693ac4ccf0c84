// SPDX-License-Identifier: Apache-2.0
// graph_memory_test.cpp - buffers that graphs use: their free waits for the launches that weir has
// made.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/nodes/child_graph_node.hpp>
#include <weir/graph/nodes/copy_node.hpp>
#include <weir/graph/nodes/fill_node.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include <gtest/gtest.h>

#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver;
using detail::driver_table;
using detail::fault_table;
using test::gate;

class GraphMemory : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 1 << 14;
  using ints = buffer<std::uint32_t>;

  static bool is_held(stream_ref stream) { return !stream.sync_for(std::chrono::milliseconds{5}); }

  // Launches the graph on a stream behind a gate, destroys the buffer, and returns true if its free
  // waits for the launch.
  bool free_waits_for(const graph_exec& run, std::optional<ints>& x) {
    q.wait(s);
    gate held{q};
    run.launch(q);
    x.reset();
    const bool waits = is_held(s);
    held.open();
    s.sync();
    q.sync();
    return waits;
  }

  device gpu;
  stream s{gpu};
  stream q{gpu};
  pinned_buffer<std::uint32_t> host{size};
  std::optional<ints> x{std::in_place, s, size};
};

TEST_F(GraphMemory, TheFreeWaitsForALaunchOfACapturedCopy) {
  const graph g = capture(s, [&] { copy(s, *x, host); });
  EXPECT_TRUE(free_waits_for(g.instantiate(), x));
}

TEST_F(GraphMemory, TheFreeWaitsForALaunchOfACapturedFillOfAPart) {
  const graph g = capture(s, [&] { fill(s, x->first(10), 1u); });
  EXPECT_TRUE(free_waits_for(g.instantiate(), x));
}

TEST_F(GraphMemory, TheFreeWaitsForALaunchOfACapturedUseByAddress) {
  const graph g = capture(s, [&] {
    fill(s, host.first(1), 1u);
    fill(s, std::span{x->data() + 100, 10}, 1u);
  });
  EXPECT_TRUE(free_waits_for(g.instantiate(), x));
}

// The second capture is another graph.
TEST_F(GraphMemory, EveryGraphKnowsTheMemoryOfItsCapture) {
  const graph first = capture(s, [&] { fill(s, *x, 1u); });
  const graph second = capture(s, [&] { fill(s, *x, 2u); });
  EXPECT_TRUE(free_waits_for(second.instantiate(), x));
}

TEST_F(GraphMemory, TheFreeWaitsForALaunchOfNodes) {
  graph g;
  static_cast<void>(g.add(copy_parameters{*x, host}));
  EXPECT_TRUE(free_waits_for(g.instantiate(), x));
  x.emplace(s, size);
  graph h;
  static_cast<void>(h.add(fill_parameters{*x, 3u}));
  EXPECT_TRUE(free_waits_for(h.instantiate(), x));
}

TEST_F(GraphMemory, AChangedNodeUsesItsNewMemory) {
  ints y{s, size};
  graph g;
  const fill_node node = g.add(fill_parameters{y, 3u});
  node.set(fill_parameters{*x, 4u});
  EXPECT_TRUE(free_waits_for(g.instantiate(), x));
}

TEST_F(GraphMemory, AnExecutableUsesTheMemoryOfChangedNodes) {
  ints y{s, size};
  graph g;
  const fill_node node = g.add(fill_parameters{y, 3u});
  graph_exec run = g.instantiate();
  run.set(node, fill_parameters{*x, 4u});
  EXPECT_TRUE(free_waits_for(run, x));
}

TEST_F(GraphMemory, AnUpdatedExecutableUsesTheMemoryOfItsNewGraph) {
  ints y{s, size};
  const graph before = capture(s, [&] { fill(s, y, 1u); });
  graph_exec run = before.instantiate();
  const graph after = capture(s, [&] { fill(s, *x, 1u); });
  ASSERT_TRUE(run.update(after));
  EXPECT_TRUE(free_waits_for(run, x));
}

TEST_F(GraphMemory, ChildGraphsAndClonesUseTheMemory) {
  const graph child = capture(s, [&] { fill(s, *x, 1u); });
  graph parent;
  static_cast<void>(parent.add(child_graph_parameters{child}));
  EXPECT_TRUE(free_waits_for(parent.instantiate(), x));
  x.emplace(s, size);
  const graph original = capture(s, [&] { fill(s, *x, 1u); });
  const graph copy_of_it = original.clone();
  EXPECT_TRUE(free_waits_for(copy_of_it.instantiate(), x));
}

TEST_F(GraphMemory, ABufferThatIsNotLaunchedIsFreedAtOnce) {
  const graph g = capture(s, [&] { fill(s, *x, 1u); });
  const graph_exec run = g.instantiate();
  gate held{q};
  x.reset();
  s.sync();  // blocks for ever if it waits for q
  held.open();
  q.sync();
}

// The executable may be launched without the buffer if its node is changed.
TEST_F(GraphMemory, MemoryThatHasEndedIsSkipped) {
  graph g;
  const fill_node node = g.add(fill_parameters{*x, 4u});
  graph_exec run = g.instantiate();
  x.reset();
  ints y{s, size};
  run.set(node, fill_parameters{y, 3u});
  run.launch(s);
  copy(s, y, host);
  s.sync();
  EXPECT_EQ(host[0], 3u);
}

TEST_F(GraphMemory, PinnedMemoryIsFreedAfterALaunchThatUsesIt) {
  std::optional<pinned_buffer<std::uint32_t>> source{std::in_place, size};
  const graph g = capture(s, [&] { copy(s, *source, *x); });
  const graph_exec run = g.instantiate();
  const fault_table calls;
  gate held{q};
  run.launch(q);
  source.reset();
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 0);
  held.open();
  q.sync();
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 1);
}

// Memory that the launch itself allocates: its buffer was made in the capture and outlives it.
TEST_F(GraphMemory, TheFreeOfABufferLeftBehindWaitsForTheLaunch) {
  std::optional<ints> left;
  const graph g = capture(s, [&] {
    left.emplace(s, size);
    fill(s, *left, 1u);
  });
  const graph_exec run = g.instantiate();
  EXPECT_TRUE(free_waits_for(run, left));
  run.launch(q);  // refused unless the memory was freed
  q.sync();
}

}  // namespace
}  // namespace weir
