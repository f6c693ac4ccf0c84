// SPDX-License-Identifier: Apache-2.0
// node_owners_test.cpp - objects that nodes keep, with failing driver calls: destroyed at once and
// only once if they are not kept.
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/graph_nodes.hpp>

#include <vector>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"
#include "support/closure_probe.hpp"

namespace weir {
namespace {

using test::closure_probe;
using test::closure_stats;
using test::driver_table;
using test::every_call_may_fail;
using test::fault_table;
using test::is_destroyed_once;
using test::result_of;
using test::unhandled_errors;

class NodeOwnerFaults : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
  graph g;
};

// A new function that cannot be kept is destroyed at once, and the old one stays.
TEST_F(NodeOwnerFaults, AFunctionThatCannotBeKeptIsDestroyedOnce) {
  const auto attempt = [&](auto function, int nth, auto change) {
    closure_stats f;
    {
      fault_table faults;
      faults.fail(function, nth, abi::CUDA_ERROR_OUT_OF_MEMORY);
      EXPECT_EQ(result_of([&] { change(host_function_parameters{[held = closure_probe{f}] {}}); }),
                errc::out_of_memory);
    }
    EXPECT_TRUE(is_destroyed_once(f));
    EXPECT_EQ(f.destructions_in_host_functions, 0);
  };
  closure_stats first;
  const host_function_node node = g.add(host_function_parameters{[held = closure_probe{first}] {}});
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

// A range that counts its destructions.
class told_range {
 public:
  explicit told_range(closure_stats& f) : probe_{f} {}
  [[nodiscard]] const int* data() const { return memory_.data(); }
  [[nodiscard]] int* data() { return memory_.data(); }
  [[nodiscard]] std::size_t size() const { return memory_.size(); }

 private:
  closure_probe probe_;
  std::vector<int> memory_ = std::vector<int>(10);
};

// If the second of two owners cannot be kept, the graph does not keep the first one either.
TEST_F(NodeOwnerFaults, TwoOwnersAreDestroyedOnceIfOneCannotBeKept) {
  g.tag(g.add(empty_parameters{}), "there are notes");
  const auto attempt = [&](auto function, int nth) {
    closure_stats from;
    closure_stats to;
    {
      fault_table faults;
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

// An object that cannot be released is destroyed with its graph, and the error reaches the handler.
TEST_F(NodeOwnerFaults, AFunctionThatCannotBeReleasedLivesAsLongAsItsGraph) {
  closure_stats first;
  {
    graph mine;
    const host_function_node node =
        mine.add(host_function_parameters{[held = closure_probe{first}] {}});
    const unhandled_errors unhandled;
    {
      fault_table faults;
      faults.fail(&driver_table::cuGraphReleaseUserObject, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
      node.set(host_function_parameters{[] {}});
    }
    EXPECT_EQ(unhandled.count(), 1u);
    drain_deferred();
    EXPECT_EQ(first.destructions, 0);
  }
  EXPECT_TRUE(is_destroyed_once(first));
}

// A failed launch does not count: a function that is replaced after it is destroyed at once.
TEST_F(NodeOwnerFaults, AFailedLaunchDoesNotDelayAReplacedFunction) {
  const context_scope current{gpu};
  const host_function_node node = g.add(host_function_parameters{[] {}});
  graph_exec exec = g.instantiate();
  closure_stats f;
  exec.set(node, host_function_parameters{[held = closure_probe{f}] {}});
  every_call_may_fail([&] { exec.launch(s); });
  exec.launch(stream_ref::per_thread());
  exec.set(node, host_function_parameters{[] {}});
  s.sync();
  stream_ref::per_thread().sync();
  EXPECT_TRUE(is_destroyed_once(f));
}

}  // namespace
}  // namespace weir
