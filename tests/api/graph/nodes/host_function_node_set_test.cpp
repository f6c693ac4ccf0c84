// SPDX-License-Identifier: Apache-2.0
// host_function_node_set_test.cpp - functions of nodes that are replaced, and the lifetime of the
// old ones.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/nodes/host_function_node.hpp>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/closure_probe.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::closure_stats;
using test::counting_closure;
using test::gate;
using test::is_destroyed_once;
using test::result_of;

class HostFunctionNodeSet : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
  graph g;
};

TEST_F(HostFunctionNodeSet, AFunctionIsReplacedInAGraph) {
  closure_stats first;
  closure_stats second;
  const host_function_node node = g.add(host_function_parameters{counting_closure(first)});
  std::optional<graph_exec> exec{g.instantiate()};
  node.set(host_function_parameters{counting_closure(second)});
  drain_deferred();
  EXPECT_EQ(first.destructions, 0) << "the executable keeps the function";
  exec->launch(s);
  g.instantiate().launch(s);
  s.sync();
  EXPECT_EQ(first.runs, 1);
  EXPECT_EQ(second.runs, 1);
  exec.reset();
  EXPECT_TRUE(is_destroyed_once(first));
  EXPECT_EQ(second.destructions, 0);
  g.remove(node);
  EXPECT_TRUE(is_destroyed_once(second)) << "destroyed with its node";
}

// Rule 149, and exec.set_while_running.
TEST_F(HostFunctionNodeSet, AFunctionIsReplacedInAnExecutableWhileItRuns) {
  closure_stats first;
  closure_stats second;
  closure_stats third;
  const host_function_node node = g.add(host_function_parameters{counting_closure(first)});
  graph_exec exec = g.instantiate();
  exec.set(node, host_function_parameters{counting_closure(second)});
  {
    gate held{s};
    exec.launch(s);
    exec.set(node, host_function_parameters{counting_closure(third)});
    EXPECT_EQ(second.destructions, 0) << "the queued launch runs the function";
    exec.launch(s);
  }
  s.sync();
  EXPECT_EQ(first.runs, 0);
  EXPECT_EQ(second.runs, 1);
  EXPECT_EQ(third.runs, 1);
  EXPECT_TRUE(is_destroyed_once(second));
  EXPECT_EQ(second.destructions_in_host_functions, 0);
  {
    gate held{s};
    exec.launch(s);
    exec.close();
    EXPECT_EQ(third.destructions, 0);
  }
  EXPECT_TRUE(is_destroyed_once(third));
  EXPECT_EQ(third.runs, 2);
  drain_deferred();
  EXPECT_EQ(first.destructions, 0) << "the graph keeps the function";
}

// update() replaces all functions by the graph's.
TEST_F(HostFunctionNodeSet, AnUpdateReplacesAFunction) {
  closure_stats set;
  int runs = 0;
  const host_function_node node = g.add(host_function_parameters{[] {}});
  graph_exec exec = g.instantiate();
  exec.set(node, host_function_parameters{counting_closure(set)});
  exec.launch(s);
  node.set(host_function_parameters{[&] { ++runs; }});
  ASSERT_TRUE(exec.update(g));
  exec.launch(s);
  s.sync();
  EXPECT_EQ(set.runs, 1);
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(is_destroyed_once(set));
}

// The launches run on several streams and use several versions.
TEST_F(HostFunctionNodeSet, AFunctionIsReplacedBetweenLaunchesInSeveralStreams) {
  const context_scope current{gpu};  // for the per-thread stream
  stream t{gpu};
  const stream_ref streams[] = {s, t, stream_ref::per_thread()};
  std::vector<closure_stats> fates(60);
  const host_function_node node = g.add(host_function_parameters{[] {}});
  {
    graph_exec exec = g.instantiate();
    for (std::size_t i = 0; i < fates.size(); ++i) {
      exec.set(node, host_function_parameters{counting_closure(fates[i])});
      for (const stream_ref in : streams) {
        if (i % 3 != 0) exec.launch(in);
      }
    }
  }
  for (const stream_ref in : streams) in.sync();
  for (std::size_t i = 0; i < fates.size(); ++i) {
    EXPECT_EQ(fates[i].runs, i % 3 != 0 ? 3 : 0) << i;
    EXPECT_TRUE(is_destroyed_once(fates[i])) << i;
  }
}

TEST_F(HostFunctionNodeSet, AMovedExecutableKeepsItsFunction) {
  closure_stats f;
  const host_function_node node = g.add(host_function_parameters{[] {}});
  {
    graph_exec exec = g.instantiate();
    exec.set(node, host_function_parameters{counting_closure(f)});
    graph_exec moved = std::move(exec);
    graph_exec other = g.instantiate();
    other = std::move(moved);
    other.launch(s);
    s.sync();
    drain_deferred();
    EXPECT_EQ(f.runs, 1);
    EXPECT_EQ(f.destructions, 0);
  }
  EXPECT_TRUE(is_destroyed_once(f));
}

TEST_F(HostFunctionNodeSet, ARefusedFunctionIsDestroyedAtOnce) {
  closure_stats f;
  graph other;
  const host_function_node theirs = other.add(host_function_parameters{[] {}});
  graph_exec exec = g.instantiate();
  EXPECT_EQ(result_of([&] { exec.set(theirs, host_function_parameters{counting_closure(f)}); }),
            errc::invalid_value);
  EXPECT_EQ(f.destructions, 1);
}

// The function of a captured node belongs to the graph like that of an added node.
TEST_F(HostFunctionNodeSet, ACapturedFunctionIsReplaced) {
  closure_stats captured;
  closure_stats set;
  {
    graph mine = capture(s, [&] { launch_host(s, counting_closure(captured)); });
    const auto node = mine.nodes().at(0).as<host_function_node>();
    EXPECT_NE(node.parameters().function(), nullptr);
    node.set(host_function_parameters{counting_closure(set)});
    mine.instantiate().launch(s);
    s.sync();
  }
  EXPECT_EQ(captured.runs, 0);
  EXPECT_EQ(set.runs, 1);
  EXPECT_TRUE(is_destroyed_once(captured));
  EXPECT_TRUE(is_destroyed_once(set));
}

// If a host function destroys the executable, another thread destroys it and its functions.
TEST_F(HostFunctionNodeSet, AFunctionIsDestroyedWithAnExecutableThatAHostFunctionDestroys) {
  closure_stats f;
  const host_function_node node = g.add(host_function_parameters{[] {}});
  auto exec = std::make_unique<graph_exec>(g.instantiate());
  exec->set(node, host_function_parameters{counting_closure(f)});
  exec->launch(s);
  launch_host(s, [&] { exec.reset(); });
  s.sync();
  EXPECT_TRUE(is_destroyed_once(f));
  EXPECT_EQ(f.destructions_in_host_functions, 0);
  drain_deferred();
}

// The replaced function is destroyed although a capture is open, and the capture stays valid.
TEST_F(HostFunctionNodeSet, AFunctionIsReplacedDuringACapture) {
  stream t{gpu};
  closure_stats f;
  const host_function_node node = g.add(host_function_parameters{[] {}});
  graph_exec exec = g.instantiate();
  exec.set(node, host_function_parameters{counting_closure(f)});
  exec.launch(s);
  const graph captured = capture(t,
                                 [&] {
                                   launch_host(t, [] {});
                                   exec.launch(s);
                                   exec.set(node, host_function_parameters{[] {}});
                                 },
                                 {.mode = capture_mode::global});
  EXPECT_EQ(captured.node_count(), 1u);
  EXPECT_TRUE(is_destroyed_once(f));
  s.sync();
  EXPECT_EQ(f.runs, 2);
}

}  // namespace
}  // namespace weir
