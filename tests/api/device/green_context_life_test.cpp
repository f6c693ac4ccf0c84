// SPDX-License-Identifier: Apache-2.0
// green_context_life_test.cpp - lifetime of a green context: its streams, graphs and executables
// keep it alive; other objects outlive it.
#include <weir/capture/capture.hpp>
#include <weir/capture/capture_frontier.hpp>
#include <weir/capture/capture_to.hpp>
#include <weir/core/deferred.hpp>
#include <weir/device/green_context.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/host_function.hpp>

#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "green_context_fixture.hpp"
#include "support/fault_table.hpp"
#include "support/green_context_end.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::is_destroyed_once;

using GreenContextLife = test::green_context_fixture;

TEST_F(GreenContextLife, AStreamKeepsItsGreenContextAlive) {
  const fault_table calls;
  std::optional<green_context> green{some()};
  std::optional<stream> s{*green};
  std::optional<stream> t{*green};
  green.reset();
  buffer<int> x{*s, 10};
  fill(*s, x, 1);
  s->sync();
  x.close();
  s.reset();
  EXPECT_EQ(calls.count(&driver_table::cuGreenCtxDestroy), 0);
  EXPECT_EQ(sm_resource::query(*t).count(), some().count());
  t.reset();
  EXPECT_EQ(calls.count(&driver_table::cuGreenCtxDestroy), 1);
}

// A graph is instantiated in the context of its capture, and its nodes belong to that context.
TEST_F(GreenContextLife, ACapturedGraphKeepsItsGreenContextAlive) {
  const stream s{gpu};
  int runs = 0;
  const fault_table calls;
  {
    std::optional<green_context> part{std::in_place, some()};
    std::optional<stream> in_part{std::in_place, *part};
    std::optional<graph> recorded{
        capture(*in_part, [&] { launch_host(*in_part, [&runs] { ++runs; }); })};
    in_part.reset();
    part.reset();
    const graph_exec run = recorded->instantiate();
    recorded.reset();
    run.launch(s);
    s.sync();
    EXPECT_EQ(runs, 1);
    drain_deferred();
    EXPECT_EQ(calls.count(&driver_table::cuGreenCtxDestroy), 0);
  }
  EXPECT_TRUE(is_destroyed_once(calls));
  drain_deferred();
}

// An executable keeps the context too, even after an update has released the graph's objects, as
// the executable may have to be reinstantiated there.
TEST_F(GreenContextLife, AnExecutableGraphKeepsItsGreenContextAlive) {
  const stream s{gpu};
  int runs = 0;
  const auto count = [&runs] { ++runs; };
  const fault_table calls;
  {
    std::optional<graph_exec> run;
    {
      const green_context part{some()};
      const stream in_part{part};
      run = capture(in_part, [&] { launch_host(in_part, count); }).instantiate();
    }
    ASSERT_TRUE(run->update(capture(s, [&] { launch_host(s, count); })));
    run->launch(s);
    s.sync();
    drain_deferred();
    EXPECT_EQ(calls.count(&driver_table::cuGreenCtxDestroy), 0);
    const graph longer = capture(s, [&] {
      launch_host(s, count);
      launch_host(s, count);
    });
    EXPECT_FALSE(run->update_or_reinstantiate(longer));
    run->launch(s);
    s.sync();
    EXPECT_EQ(runs, 3);
  }
  EXPECT_TRUE(is_destroyed_once(calls));
  drain_deferred();
}

// Nodes that are captured later on a stream of another context do not change the graph's context.
TEST_F(GreenContextLife, AGraphKeepsItsFirstContextWhenItIsCapturedIntoAgain) {
  const stream s{gpu};
  int runs = 0;
  const auto count = [&runs] { ++runs; };
  const fault_table calls;
  {
    std::optional<graph_exec> run;
    {
      const green_context part{some()};
      const stream in_part{part};
      graph recorded = capture(in_part, [&] { launch_host(in_part, count); });
      begin_capture_to(s, std::move(recorded));
      launch_host(s, count);
      run = end_capture(s).instantiate();
    }
    ASSERT_TRUE(run->update(capture(s,
                                    [&] {
                                      launch_host(s, count);
                                      update_capture_dependencies(s, {}, dependency_update::set);
                                      launch_host(s, count);
                                    },
                                    {.join_forks = true})));
    run->launch(s);
    s.sync();
    EXPECT_EQ(runs, 2);
    drain_deferred();
    EXPECT_EQ(calls.count(&driver_table::cuGreenCtxDestroy), 0);
  }
  EXPECT_TRUE(is_destroyed_once(calls));
  drain_deferred();
}

// All contexts of a device share its memory.
TEST_F(GreenContextLife, ABufferMovedToAnotherStreamOutlivesTheGreenContext) {
  std::optional<green_context> green{some()};
  std::optional<stream> s{*green};
  const stream t{gpu};
  buffer<int> x{*s, 10};
  fill(*s, x, 7);
  x.set_stream(t);
  s.reset();
  green.reset();
  buffer<int> y{t, 10};
  std::vector<int> host(10);
  copy(t, x, y);
  copy(t, y, host);
  t.sync();
  EXPECT_EQ(host, std::vector<int>(10, 7));
}

}  // namespace
}  // namespace weir
