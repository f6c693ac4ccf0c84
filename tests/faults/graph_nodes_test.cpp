// graph_nodes_test.cpp - nodes of graphs of which a driver call fails: nothing added, nothing changed, nothing kept.
#include <weir/buffer.hpp>
#include <weir/capture.hpp>
#include <weir/context.hpp>
#include <weir/deferred.hpp>
#include <weir/fill.hpp>
#include <weir/graph_drawing.hpp>
#include <weir/graph_exec.hpp>
#include <weir/graph_nodes.hpp>
#include <weir/pinned_buffer.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"
#include "support/witness.hpp"

namespace weir {
namespace {

using test::driver_table;
using test::every_call_may_fail;
using test::failing_table;
using test::fate;
using test::is_destroyed_once;
using test::result_of;
using test::unraised_errors;
using test::witness;

class GraphNodeFaults : public ::testing::Test {
 protected:
  // Adds one to a graph of its own each time: nothing of it stays there if that fails.
  template <class Make>
  void adding_may_fail(const Make& parameters) {
    every_call_may_fail([&] {
      graph mine;
      const empty_node first = mine.add(empty_parameters{});
      try {
        static_cast<void>(mine.add(parameters(), {first}));
      } catch (...) {
        EXPECT_EQ(left_in(mine), 1u);
        throw;
      }
      return mine;
    });
  }
  [[nodiscard]] static std::size_t left_in(const graph& of) { return of.node_count(); }

  device gpu;
  stream s{gpu};
  buffer<int> x{s, 100};
  pinned_buffer<int> host{100};
  event e{gpu};
  word<std::uint32_t> w;
  graph g;
};

TEST_F(GraphNodeFaults, NodesThatAreAdded) {
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

TEST_F(GraphNodeFaults, NodesThatAllocateAndFree) {
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

TEST_F(GraphNodeFaults, Children) {
  graph child;
  const fill_node a = child.add(fill_parameters{x, 1});
  every_call_may_fail([&] {
    graph mine;
    mine.add(child_graph_parameters{child});
    return mine;
  });
  child.tag(a, "a");
  every_call_may_fail([&] {
    graph mine;
    try {
      static_cast<void>(mine.add(child_graph_parameters{child}));
    } catch (...) {
      EXPECT_EQ(left_in(mine), 0u);
      throw;
    }
    return mine;
  });
  const child_graph_node node = g.add(child_graph_parameters{child});
  every_call_may_fail([&] { static_cast<void>(node.child()); });
}

// Graphs that allocate lose no nodes, so what is there stays, without its tags.
TEST_F(GraphNodeFaults, AChildThatCannotBeTakenOutAgain) {
  graph child;
  child.tag(child.add(fill_parameters{x, 1}), "a");
  static_cast<void>(g.add(allocation_parameters{gpu, 400}));
  const unraised_errors unraised;
  failing_table faults;
  faults.fail(&driver_table::cuGraphNodeFindInClone, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
  const child_graph_node node = g.add(child_graph_parameters{child});
  EXPECT_EQ(g.node_count(), 2u);
  EXPECT_EQ(node.child().node_count(), 1u);
  EXPECT_FALSE(node.child().find("a"));
  ASSERT_EQ(unraised.errors().size(), 1u);
  EXPECT_STREQ(unraised.errors().front().call(), "cuGraphNodeFindInClone");
}

TEST_F(GraphNodeFaults, AChildThatIsReplacedInAnExecutable) {
  graph child;
  static_cast<void>(child.add(host_function_parameters{[] {}}));
  const child_graph_node node = g.add(child_graph_parameters{child});
  every_call_may_fail([&] {
    graph_exec exec = g.instantiate();
    exec.set(node, child_graph_parameters{child});
    return exec;
  });
}

TEST_F(GraphNodeFaults, AChildThatIsNotMovedStays) {
  graph child;
  static_cast<void>(child.add(fill_parameters{x, 1}));
  {
    failing_table faults;
    faults.fail(&driver_table::cuGraphAddNode_v2, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(result_of([&] { static_cast<void>(add_moved_child(g, std::move(child))); }), errc::out_of_memory);
  }
  EXPECT_FALSE(child.closed());
  EXPECT_EQ(child.node_count(), 1u);
  static_cast<void>(add_moved_child(g, std::move(child)));
  EXPECT_TRUE(child.closed());
}

TEST_F(GraphNodeFaults, Conditions) {
  const context_scope current{gpu};
  every_call_may_fail([&] {
    graph mine;
    const condition c{mine, 1};
    try {
      static_cast<void>(mine.add(if_parameters{c}).body());
    } catch (...) {
      EXPECT_EQ(left_in(mine), 0u);
      throw;
    }
    return mine;
  });
  every_call_may_fail([&] {
    graph mine;
    static_cast<void>(mine.add(switch_parameters{condition{mine}, 3}).body(2).add(empty_parameters{}));
    return mine;
  });
  every_call_may_fail([&] { static_cast<void>(conditional_support_of_driver()); });
}

// A driver of before CUDA 12.8 has no second body, and says so before it is asked.
TEST_F(GraphNodeFaults, ConditionsOfOlderDrivers) {
  const condition c{g, 1};
  failing_table faults;
  faults.fail_from(&driver_table::cuGraphConditionalHandleCreate, 1, abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
  EXPECT_EQ(result_of([&] { static_cast<void>(condition{g}); }), errc::call_requires_newer_driver);
}

TEST_F(GraphNodeFaults, NodesThatAreAsked) {
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

// What the driver does not tell of a node is left out of its picture; which nodes there are has to be told.
TEST_F(GraphNodeFaults, DrawnOnes) {
  graph child;
  child.add(empty_parameters{}, {child.add(empty_parameters{})});
  g.add(child_graph_parameters{child});
  every_call_may_fail([&] { return drawing_of(g); });
  every_call_may_fail([&] { return g.clone(); });

  graph detailed;
  detailed.add(fill_parameters{x, 1});
  detailed.add(copy_parameters{x, host});
  detailed.add(event_record_parameters{e});
  detailed.add(event_wait_parameters{e});
  detailed.add(value_batch_parameters{value_batch{}.write(w, 1)});
  const allocation_node memory = detailed.add(allocation_parameters{gpu, 400});
  detailed.add(free_parameters{memory}, {memory});
  failing_table faults;
  const auto fails = [&](auto function) { faults.fail_from(function, 1, abi::CUDA_ERROR_INVALID_VALUE); };
  fails(&driver_table::cuGraphMemsetNodeGetParams);
  fails(&driver_table::cuGraphMemcpyNodeGetParams);
  fails(&driver_table::cuGraphEventRecordNodeGetEvent);
  fails(&driver_table::cuGraphEventWaitNodeGetEvent);
  fails(&driver_table::cuGraphBatchMemOpNodeGetParams);
  fails(&driver_table::cuGraphMemAllocNodeGetParams);
  fails(&driver_table::cuGraphMemFreeNodeGetParams);
  const std::string text = drawing_of(detailed, {.call_sites = false});
  for (const char* word :
       {"<fill>", "<copy>", "<record event>", "<wait for event>", "<values>", "<allocate>", "<free>"}) {
    EXPECT_NE(text.find(word), std::string::npos) << word << " is not in " << text;
  }
}

TEST_F(GraphNodeFaults, NodesThatAreChanged) {
  const fill_node a = g.add(fill_parameters{x, 1});
  const copy_node b = g.add(copy_parameters{x, host});
  const host_function_node c = g.add(host_function_parameters{[](void*) {}, nullptr});
  const event_record_node d = g.add(event_record_parameters{e});
  const event_wait_node f = g.add(event_wait_parameters{e});
  const value_batch_node h = g.add(value_batch_parameters{value_batch{}.write(w, 1)});
  graph_exec exec = g.instantiate();
  every_call_may_fail([&] { a.set(fill_parameters{x, 2}); });
  every_call_may_fail([&] { b.set(copy_parameters{x, host}); });
  every_call_may_fail([&] { c.set(host_function_parameters{[](void*) {}, nullptr}); });
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

TEST_F(GraphNodeFaults, OrdersAndTags) {
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

// A function that is not taken goes at once, one that was replaced stays.
TEST_F(GraphNodeFaults, AFunctionThatIsNotTaken) {
  const auto attempt = [&](auto function, int nth, auto change) {
    fate f;
    {
      failing_table faults;
      faults.fail(function, nth, abi::CUDA_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(result_of([&] { change(host_function_parameters{[held = witness{f}] {}}); }), errc::out_of_memory);
    }
    EXPECT_TRUE(is_destroyed_once(f));
    EXPECT_EQ(f.destructions_in_host_functions, 0);
  };
  fate first;
  const host_function_node node = g.add(host_function_parameters{[held = witness{first}] {}});
  graph_exec exec = g.instantiate();
  const auto add = [&](const host_function_parameters& what) { static_cast<void>(g.add(what)); };
  const auto set = [&](const host_function_parameters& what) { node.set(what); };
  const auto set_in = [&](const host_function_parameters& what) { exec.set(node, what); };
  attempt(&driver_table::cuUserObjectCreate, 1, add);
  attempt(&driver_table::cuGraphRetainUserObject, 1, add);
  attempt(&driver_table::cuGraphAddNode_v2, 1, add);
  attempt(&driver_table::cuUserObjectCreate, 1, set);
  attempt(&driver_table::cuGraphRetainUserObject, 1, set);
  attempt(&driver_table::cuGraphHostNodeSetParams, 1, set);
  attempt(&driver_table::cuGraphExecHostNodeSetParams, 1, set_in);
  attempt(&driver_table::cuCtxPushCurrent_v2, 1, set_in);
  EXPECT_EQ(g.node_count(), 1u);
  drain_deferred();
  EXPECT_EQ(first.destructions, 0);
  exec.launch(s);
  s.sync();
}

// A range that tells its fate.
class told_range {
 public:
  explicit told_range(fate& f) : witness_{f} {}
  [[nodiscard]] const int* data() const { return memory_.data(); }
  [[nodiscard]] int* data() { return memory_.data(); }
  [[nodiscard]] std::size_t size() const { return memory_.size(); }

 private:
  witness witness_;
  std::vector<int> memory_ = std::vector<int>(10);
};

// Nor does the graph keep the first of two owners where the second is not taken.
TEST_F(GraphNodeFaults, TwoOwnersOfWhichOneIsNotTaken) {
  g.tag(g.add(empty_parameters{}), "there are notes");
  const auto attempt = [&](auto function, int nth) {
    fate from;
    fate to;
    {
      failing_table faults;
      faults.fail(function, nth, abi::CUDA_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(result_of([&] {
                  static_cast<void>(g.add(copy_parameters{told_range{from}, told_range{to}}));
                }),
                errc::out_of_memory);
    }
    EXPECT_TRUE(is_destroyed_once(from));
    EXPECT_TRUE(is_destroyed_once(to));
  };
  attempt(&driver_table::cuUserObjectCreate, 1);
  attempt(&driver_table::cuUserObjectCreate, 2);
  attempt(&driver_table::cuGraphRetainUserObject, 1);
  attempt(&driver_table::cuGraphRetainUserObject, 2);
  attempt(&driver_table::cuGraphAddNode_v2, 1);
  EXPECT_EQ(g.node_count(), 1u);
}

// What cannot be given up is not lost with it: it goes with the graph, and the hook hears of it.
TEST_F(GraphNodeFaults, AFunctionThatIsNotGivenUp) {
  fate first;
  {
    graph mine;
    const host_function_node node = mine.add(host_function_parameters{[held = witness{first}] {}});
    const unraised_errors unraised;
    {
      failing_table faults;
      faults.fail(&driver_table::cuGraphReleaseUserObject, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
      node.set(host_function_parameters{[] {}});
    }
    EXPECT_EQ(unraised.count(), 1u);
    drain_deferred();
    EXPECT_EQ(first.destructions, 0);
  }
  EXPECT_TRUE(is_destroyed_once(first));
}

// A launch that fails is none: what is replaced after it waits for nothing.
TEST_F(GraphNodeFaults, ALaunchOfAnExecutableThatKeepsSomething) {
  const context_scope current{gpu};
  const host_function_node node = g.add(host_function_parameters{[] {}});
  graph_exec exec = g.instantiate();
  fate f;
  exec.set(node, host_function_parameters{[held = witness{f}] {}});
  every_call_may_fail([&] { exec.launch(s); });
  exec.launch(stream_ref::per_thread());
  exec.set(node, host_function_parameters{[] {}});
  s.sync();
  stream_ref::per_thread().sync();
  EXPECT_TRUE(is_destroyed_once(f));
}

}  // namespace
}  // namespace weir
