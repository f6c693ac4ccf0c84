// SPDX-License-Identifier: Apache-2.0
// host_function_node_test.cpp - nodes that run code of the host.
#include <weir/core/deferred.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/nodes/host_function_node.hpp>
#include <weir/stream/host_function.hpp>

#include <optional>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "support/closure_probe.hpp"
#include "support/errors.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using test::closure_stats;
using test::counting_closure;
using test::is_destroyed_once;
using test::result_of;
using test::unhandled_errors;

class HostFunctionNode : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
  graph g;
};

TEST_F(HostFunctionNode, ANodeRunsAtEachLaunch) {
  closure_stats f;
  {
    std::optional<graph_exec> exec;
    {
      graph mine;
      const host_function_node node = mine.add(host_function_parameters{counting_closure(f)});
      static_cast<void>(node);
      exec = mine.instantiate();
    }
    for (int i = 0; i < 3; ++i) exec->launch(s);
    s.sync();
    EXPECT_EQ(f.runs, 3);
    drain_deferred();
    EXPECT_EQ(f.destructions, 0);
  }
  EXPECT_TRUE(is_destroyed_once(f));
  EXPECT_EQ(f.destructions_in_host_functions, 0);
}

TEST_F(HostFunctionNode, NodesRunInTheOrderOfTheirDependencies) {
  std::vector<int> order;
  graph_node last;
  for (int i = 0; i < 5; ++i) {
    const auto put = [&order, i] { order.push_back(i); };
    last =
        i == 0 ? g.add(host_function_parameters{put}) : g.add(host_function_parameters{put}, last);
  }
  g.instantiate().launch(s);
  s.sync();
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
}

TEST_F(HostFunctionNode, ACFunctionRunsWithItsData) {
  int calls = 0;
  const auto count = [](void* data) { ++*static_cast<int*>(data); };
  const host_function_node node = g.add(host_function_parameters{+count, &calls});
  EXPECT_EQ(node.parameters().data(), &calls);
  EXPECT_EQ(node.parameters().function(), +count);
  g.instantiate().launch(s);
  s.sync();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(result_of([&] {
              static_cast<void>(g.add(host_function_parameters{nullptr, &calls}));
            }),
            errc::invalid_value);
  EXPECT_EQ(g.node_count(), 1u);
}

// weir refuses its calls in a C function as in any other host function.
TEST_F(HostFunctionNode, ACFunctionIsAHostFunction) {
  struct facts {
    stream_ref stream;
    bool in_host_function;
    errc result;
  } seen{s, false, errc::success};
  const auto look = [](void* data) {
    auto& found = *static_cast<facts*>(data);
    found.in_host_function = in_host_function();
    found.result = result_of([&] { static_cast<void>(found.stream.done()); });
  };
  const host_function_node node = g.add(host_function_parameters{+look, &seen});
  const auto expect_refused = [&](const graph_exec& exec) {
    seen = {s, false, errc::success};
    exec.launch(s);
    s.sync();
    EXPECT_TRUE(seen.in_host_function);
    EXPECT_EQ(seen.result, errc::not_permitted);
  };
  graph_exec exec = g.instantiate();
  expect_refused(exec);
  node.set(host_function_parameters{+look, &seen});
  expect_refused(g.instantiate());
  exec.set(node, host_function_parameters{+look, &seen});
  expect_refused(exec);
  graph other;
  other.add(node.parameters());
  expect_refused(other.instantiate());
}

// All nodes and parameters share one function object.
TEST_F(HostFunctionNode, NodesAndParametersShareOneFunctionObject) {
  closure_stats f;
  {
    graph other;
    std::optional<graph_exec> exec;
    {
      graph mine;
      const host_function_parameters what{counting_closure(f)};
      const host_function_node a = mine.add(what);
      static_cast<void>(mine.add(what, {a}));
      static_cast<void>(other.add(a.parameters()));
      exec = other.instantiate();
      mine.instantiate().launch(s);
    }
    s.sync();
    EXPECT_EQ(f.runs, 2);
    exec->launch(s);
    s.sync();
    EXPECT_EQ(f.runs, 3);
    drain_deferred();
    EXPECT_EQ(f.destructions, 0);
  }
  EXPECT_TRUE(is_destroyed_once(f));
}

TEST_F(HostFunctionNode, AnExceptionReachesTheErrorHook) {
  const unhandled_errors unhandled;
  static_cast<void>(g.add(host_function_parameters{[] { throw std::runtime_error{"thrown"}; }}));
  const graph_exec exec = g.instantiate();
  exec.launch(s);
  exec.launch(s);
  s.sync();
  EXPECT_EQ(unhandled.count(), 2u);
}

TEST_F(HostFunctionNode, ANodeRunsAsAHostFunction) {
  bool inside = false;
  errc answer = errc::success;
  static_cast<void>(g.add(host_function_parameters{[&] {
    inside = in_host_function();
    answer = result_of([&] { s.sync(); });
  }}));
  g.instantiate().launch(s);
  s.sync();
  EXPECT_TRUE(inside);
  EXPECT_EQ(answer, errc::not_permitted);
}

}  // namespace
}  // namespace weir
