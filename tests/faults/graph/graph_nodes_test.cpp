// SPDX-License-Identifier: Apache-2.0
// graph_nodes_test.cpp - graph nodes with failing driver calls: nothing is added, changed or kept.
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/graph_nodes.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"

namespace weir {
namespace {

using test::driver_table;
using test::every_call_may_fail;
using test::fault_table;

class GraphNodeFaults : public ::testing::Test {
 protected:
  // Adds the node to a new graph each time. If that fails, expects that the graph has not changed.
  template <class Make>
  void adding_may_fail(const Make& parameters) {
    every_call_may_fail([&] {
      graph mine;
      const empty_node first = mine.add(empty_parameters{});
      try {
        static_cast<void>(mine.add(parameters(), {first}));
      } catch (...) {
        EXPECT_EQ(mine.node_count(), 1u);
        throw;
      }
      return mine;
    });
  }

  device gpu;
  stream s{gpu};
  buffer<int> x{s, 100};
  pinned_buffer<int> host{100};
  event e{gpu};
  wait_word<std::uint32_t> w;
  graph g;
};

TEST_F(GraphNodeFaults, AddingNodesReportsEachFailedCall) {
  adding_may_fail([] { return empty_parameters{}; });
  adding_may_fail([&] { return fill_parameters{x, 1}; });
  adding_may_fail([&] { return fill_parameters{host, 1}; });
  adding_may_fail([&] { return copy_parameters{host, x}; });
  adding_may_fail([&] { return copy_parameters{x, x}; });
  adding_may_fail([] { return host_function_parameters{[] {}}; });
  adding_may_fail([&] { return event_record_parameters{e}; });
  adding_may_fail([&] { return event_wait_parameters{e}; });
  adding_may_fail([&] { return value_batch_parameters{value_batch{}.write(w, 1)}; });
  adding_may_fail([&] { return copy_parameters{std::vector<int>(10), host}; });
}

TEST_F(GraphNodeFaults, AllocationNodesReportEachFailedCall) {
  every_call_may_fail([&] {
    graph mine;
    const allocation_node a = mine.add(allocation_parameters{gpu, 400});
    mine.add(free_parameters{a}, {a});
    return mine;
  });
  const allocation_node a = g.add(allocation_parameters{gpu, 400});
  every_call_may_fail([&] { static_cast<void>(a.bytes()); });
  every_call_may_fail([&] { static_cast<void>(graph_memory_of(gpu)); });
  every_call_may_fail([&] { reset_graph_memory_marks(gpu); });
  every_call_may_fail([&] { trim_graph_memory(gpu); });
}

TEST_F(GraphNodeFaults, NodeQueriesReportEachFailedCall) {
  const fill_node a = g.add(fill_parameters{x, 1});
  const copy_node b = g.add(copy_parameters{x, host}, {a});
  const host_function_node c = g.add(host_function_parameters{[] {}}, {b});
  const event_record_node d = g.add(event_record_parameters{e}, {c});
  const event_wait_node f = g.add(event_wait_parameters{e}, {d});
  const value_batch_node h = g.add(value_batch_parameters{value_batch{}.write(w, 1)}, {f});
  every_call_may_fail([&] { static_cast<void>(a.parameters()); });
  every_call_may_fail([&] { static_cast<void>(b.parameters()); });
  every_call_may_fail([&] { static_cast<void>(c.parameters()); });
  every_call_may_fail([&] { static_cast<void>(d.parameters()); });
  every_call_may_fail([&] { static_cast<void>(f.parameters()); });
  every_call_may_fail([&] { static_cast<void>(h.parameters()); });
  every_call_may_fail([&] { static_cast<void>(graph_node{a}.as<fill_node>()); });
  every_call_may_fail([&] { static_cast<void>(b.dependencies()); });
  every_call_may_fail([&] { static_cast<void>(b.dependents()); });
}

// With a tag, the driver describes the graph twice.
TEST_F(GraphNodeFaults, DescribingAndCloningReportEachFailedCall) {
  graph child;
  child.add(empty_parameters{}, {child.add(empty_parameters{})});
  g.tag(g.add(child_graph_parameters{child}), "child");
  every_call_may_fail([&] { return g.dot(); });
  every_call_may_fail([&] { return g.clone(); });
}

TEST_F(GraphNodeFaults, ChangingNodesReportsEachFailedCall) {
  const fill_node a = g.add(fill_parameters{x, 1});
  const copy_node b = g.add(copy_parameters{x, host});
  const host_function_node c = g.add(host_function_parameters{[](void*) {}, nullptr});
  const event_record_node d = g.add(event_record_parameters{e});
  const event_wait_node f = g.add(event_wait_parameters{e});
  const value_batch_node h = g.add(value_batch_parameters{value_batch{}.write(w, 1)});
  graph_exec exec = g.instantiate();
  every_call_may_fail([&] { a.set(fill_parameters{x, 2}); });
  every_call_may_fail([&] { b.set(copy_parameters{x, host}); });
  // node_owners_test.cpp has c.set(): the node releases an owner, and a failure of that call
  // reaches the handler.
  every_call_may_fail([&] { d.set(event_record_parameters{e}); });
  every_call_may_fail([&] { f.set(event_wait_parameters{e}); });
  every_call_may_fail([&] { h.set(value_batch_parameters{value_batch{}.write(w, 2)}); });
  every_call_may_fail([&] { exec.set(a, fill_parameters{x, 2}); });
  every_call_may_fail([&] { exec.set(b, copy_parameters{x, host}); });
  every_call_may_fail([&] { exec.set(c, host_function_parameters{[](void*) {}, nullptr}); });
  every_call_may_fail([&] { exec.set(d, event_record_parameters{e}); });
  every_call_may_fail([&] { exec.set(f, event_wait_parameters{e}); });
  every_call_may_fail([&] { exec.set(h, value_batch_parameters{value_batch{}.write(w, 2)}); });
  every_call_may_fail([&] { exec.disable(a); });
  every_call_may_fail([&] { exec.enable(a); });
  every_call_may_fail([&] { static_cast<void>(exec.enabled(a)); });
}

TEST_F(GraphNodeFaults, ChangingDependenciesAndTagsReportsEachFailedCall) {
  const empty_node a = g.add(empty_parameters{});
  const empty_node b = g.add(empty_parameters{});
  every_call_may_fail([&] {
    g.add_dependency(a, b);
    try {
      g.remove_dependency(a, b);
    } catch (...) {
      g.remove_dependency(a, b);
      throw;
    }
  });
  EXPECT_TRUE(g.edges().empty());
  every_call_may_fail([&] { g.remove(g.add(empty_parameters{})); });
  every_call_may_fail([&] { static_cast<void>(g.join({a, b})); });
  every_call_may_fail([&] {
    graph mine;
    mine.tag(mine.add(empty_parameters{}), "a");
    return mine;
  });
  g.tag(a, "a");
  every_call_may_fail([&] { return g.clone(); });
}

}  // namespace
}  // namespace weir
