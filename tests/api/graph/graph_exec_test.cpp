// SPDX-License-Identifier: Apache-2.0
// graph_exec_test.cpp - executables: instantiated, launched, uploaded, closed.
#include <weir/capture/capture.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "graph_fixture.hpp"
#include "support/closure_probe.hpp"
#include "support/created_context.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver;
using test::failure_of;
using test::gate;
using test::result_of;

class GraphExec : public test::graph_fixture {};

// Rules 138, 139 and 148.
TEST_F(GraphExec, AnExecutableOutlivesItsGraphAndItsLaunchesDoNotOverlap) {
  std::atomic<int> runs{0};
  std::atomic<int> at_once{0};
  std::atomic<int> most{0};
  const graph_exec exec = capture(s, [&] {
                            launch_host(s, [&] {
                              most = std::max(most.load(), ++at_once);
                              ++runs;
                              --at_once;
                            });
                          }).instantiate();
  for (int i = 0; i < 10; ++i) exec.launch(i % 2 == 0 ? s : t);
  s.sync();
  t.sync();
  EXPECT_EQ(runs, 10);
  EXPECT_EQ(most, 1);
}

TEST_F(GraphExec, ALaunchIsOneOperationOfItsStream) {
  const graph_exec exec = fill_chain_graph(1, 10).instantiate();
  gate held{s};
  fill(s, x, 100);
  exec.launch(s);
  EXPECT_FALSE(s.done()) << "a launch runs in stream order and does not block";
  held.open();
  EXPECT_EQ(first_element(), 10);
}

// Rule 140.
TEST_F(GraphExec, AnExecutableMayBeDestroyedWhileItRuns) {
  test::closure_stats f;
  {
    const graph g = fill_graph(5);
    g.keep(test::closure_probe{f});
    gate held{s};
    {
      const graph_exec exec = g.instantiate();
      exec.launch(s);
    }
    EXPECT_EQ(f.destructions, 0);
    held.open();
    EXPECT_EQ(first_element(), 5);
  }
  EXPECT_TRUE(test::is_destroyed_once(f));
}

TEST_F(GraphExec, AnUploadRunsNothing) {
  fill(s, x, 1);
  const graph g = fill_graph(2);
  const graph_exec exec = g.instantiate();
  exec.upload(s);
  EXPECT_EQ(first_element(), 1);
  const graph_exec uploaded = g.instantiate({.upload_in = s});
  EXPECT_EQ(first_element(), 1);
  uploaded.launch(s);
  EXPECT_EQ(first_element(), 2);
}

// Rules 135 and 147.
TEST_F(GraphExec, OptionsAreCheckedAndReadBack) {
  const graph g = fill_graph(2);
  const auto refused = failure_of([&] {
    static_cast<void>(g.instantiate({.auto_free_on_launch = true, .device_launch = true}));
  });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->result(), errc::invalid_value);
  EXPECT_NE(refused->hint().find("choose one"), std::string::npos) << refused->what();
  const instantiate_options plain = g.instantiate({.upload_in = s}).options();
  EXPECT_FALSE(plain.auto_free_on_launch);
  EXPECT_FALSE(plain.device_launch);
  EXPECT_FALSE(plain.upload_in);
  EXPECT_TRUE(g.instantiate({.auto_free_on_launch = true}).options().auto_free_on_launch);
  EXPECT_TRUE(g.instantiate({.node_priorities = true}).options().node_priorities);
}

// Instantiation uses the context of the capture, whatever the caller's current context is.
TEST_F(GraphExec, AGraphIsInstantiatedInTheContextOfItsCapture) {
  static abi::CUcontext where = nullptr;
  static const detail::driver_table* real = nullptr;
  real = &driver();
  detail::driver_table watched = *real;
  watched.cuGraphInstantiateWithParams = [](abi::CUgraphExec* exec, abi::CUgraph g,
                                            abi::CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
    EXPECT_EQ(real->cuCtxGetCurrent(&where), abi::CUDA_SUCCESS);
    return real->cuGraphInstantiateWithParams(exec, g, params);
  };
  const test::created_context own{gpu};
  const stream there{own};
  const graph g = capture(there, [&] { launch_host(there, [] {}); });
  const graph copy = g.clone();
  const graph by_hand;
  detail::table_in_use = &watched;
  const auto instantiated_in = [](const graph& what) {
    where = nullptr;
    static_cast<void>(what.instantiate());
    return context_ref{where};
  };
  std::thread{[&] {
    EXPECT_EQ(instantiated_in(g), there.context());
    EXPECT_EQ(instantiated_in(copy), there.context());
    EXPECT_EQ(instantiated_in(by_hand), gpu.primary_context())
        << "a new thread has no current context";
    EXPECT_FALSE(current_context());
  }}.join();
  detail::table_in_use = real;
}

TEST_F(GraphExec, AClosedExecutableThrowsClosed) {
  graph_exec exec = fill_graph(1).instantiate();
  const graph_exec taken = std::move(exec);
  EXPECT_TRUE(exec.closed());
  EXPECT_EQ(result_of([&] { exec.launch(s); }), errc::closed);
  EXPECT_EQ(result_of([&] { exec.upload(s); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(exec.update(fill_graph(1))); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(exec.options()); }), errc::closed);
  exec.close();
  exec = fill_graph(3).instantiate();
  exec.launch(s);
  exec.close();
  EXPECT_EQ(first_element(), 3);
}

}  // namespace
}  // namespace weir
