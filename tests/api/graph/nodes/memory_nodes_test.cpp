// SPDX-License-Identifier: Apache-2.0
// memory_nodes_test.cpp - nodes that allocate memory and free it.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/nodes/copy_node.hpp>
#include <weir/graph/nodes/fill_node.hpp>
#include <weir/graph/nodes/memory_nodes.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/memory_pool.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/errors.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::result_of;

class MemoryNodes : public ::testing::Test {
 protected:
  ~MemoryNodes() override { trim_graph_memory(gpu); }

  device gpu;
  stream s{gpu};
  pinned_buffer<int> host{100};
  graph g;
};

TEST_F(MemoryNodes, NodesBetweenAllocationAndFreeUseTheMemory) {
  const allocation_node a = g.add(allocation_parameters::for_elements<int>(gpu, 100));
  EXPECT_EQ(a.bytes(), 400u);
  EXPECT_EQ(a.device(), gpu);
  const std::span<int> x = a.memory<int>();
  EXPECT_EQ(x.size(), 100u);
  EXPECT_EQ(x.data(), a.address());
  const fill_node b = g.add(fill_parameters{x, 21}, {a});
  const copy_node c = g.add(copy_parameters{x, host}, {b});
  const free_node d = g.add(free_parameters{a}, {c});
  EXPECT_EQ(d.address(), a.address());
  const graph_exec exec = g.instantiate();
  for (int i = 0; i < 3; ++i) {
    host[99] = 0;
    exec.launch(s);
    s.sync();
    EXPECT_EQ(host[99], 21);
  }
}

TEST_F(MemoryNodes, MemoryThatIsNotFreedOutlivesTheLaunch) {
  const allocation_node a = g.add(allocation_parameters{gpu, 400});
  static_cast<void>(g.add(fill_parameters{a.memory<int>(), 22}, {a}));
  const graph_exec exec = g.instantiate();
  exec.launch(s);
  auto x = buffer<int>::adopt(s, a.memory<int>().data(), 100);
  const auto refused = failure_of([&] { exec.launch(s); });
  ASSERT_TRUE(refused) << "the memory has not been freed yet";
  EXPECT_EQ(refused->result(), errc::invalid_value);
  EXPECT_NE(refused->hint().find("auto_free_on_launch"), std::string::npos) << refused->what();
  copy(s, x, host);
  x.close();
  exec.launch(s);
  s.sync();
  EXPECT_EQ(host[0], 22);
  static_cast<void>(buffer<int>::adopt(s, a.memory<int>().data(), 100));
  s.sync();
}

TEST_F(MemoryNodes, AutoFreeOnLaunchFreesMemoryOfTheEarlierLaunch) {
  const allocation_node a = g.add(allocation_parameters{gpu, 400});
  const graph_exec exec = g.instantiate({.auto_free_on_launch = true});
  exec.launch(s);
  exec.launch(s);
  static_cast<void>(buffer<int>::adopt(s, a.memory<int>().data(), 100));
  s.sync();
}

TEST_F(MemoryNodes, AnotherGraphMayFreeTheMemory) {
  const allocation_node a = g.add(allocation_parameters{gpu, 400});
  graph frees;
  static_cast<void>(frees.add(free_parameters{a}));
  const graph_exec first = g.instantiate();
  const graph_exec second = frees.instantiate();
  for (int i = 0; i < 3; ++i) {
    first.launch(s);
    second.launch(s);
  }
  s.sync();
}

TEST_F(MemoryNodes, InvalidAllocationsAndFreesAreRefused) {
  buffer<int> x{s, 10};
  s.sync();
  const allocation_node a = g.add(allocation_parameters{gpu, 400});
  static_cast<void>(g.add(free_parameters{a}, {a}));
  EXPECT_EQ(result_of([&] {
              static_cast<void>(g.add(allocation_parameters{gpu, 0}));
            }),
            errc::invalid_value);
  EXPECT_EQ(result_of([&] {
              static_cast<void>(g.add(allocation_parameters{device{1000}, 400}));
            }),
            errc::invalid_value);
  EXPECT_EQ(result_of([&] { static_cast<void>(g.add(free_parameters{a}, {a})); }),
            errc::invalid_value)
      << "memory can be freed once only";
  EXPECT_EQ(
      result_of([&] { static_cast<void>(g.add(free_parameters{static_cast<void*>(x.data())})); }),
      errc::invalid_value);
  const auto inside = static_cast<void*>(a.memory<int>().data() + 1);
  EXPECT_EQ(result_of([&] { static_cast<void>(g.add(free_parameters{inside})); }),
            errc::invalid_value);
  EXPECT_EQ(g.node_count(), 2u);
}

// The errors say what a graph with such nodes cannot do.
TEST_F(MemoryNodes, AGraphWithMemoryNodesCannotBeClonedOrReduced) {
  const allocation_node a = g.add(allocation_parameters{gpu, 400});
  const free_node b = g.add(free_parameters{a}, {a});
  g.tag(a, "scratch");
  const auto cloning = failure_of([&] { static_cast<void>(g.clone()); });
  ASSERT_TRUE(cloning);
  EXPECT_EQ(cloning->result(), errc::not_supported);
  EXPECT_NE(cloning->hint().find("\"scratch\""), std::string::npos) << cloning->what();
  const auto removing = failure_of([&] { g.remove(b); });
  ASSERT_TRUE(removing);
  EXPECT_EQ(removing->result(), errc::not_supported);
  EXPECT_NE(removing->hint().find("cannot be removed"), std::string::npos) << removing->what();
  const auto dividing = failure_of([&] { g.remove_dependency(a, b); });
  ASSERT_TRUE(dividing);
  EXPECT_EQ(dividing->result(), errc::not_supported);
  const graph_exec exec = g.instantiate();
  const auto second = failure_of([&] { static_cast<void>(g.instantiate()); });
  ASSERT_TRUE(second);
  EXPECT_EQ(second->result(), errc::not_supported);
  EXPECT_NE(second->hint().find("one executable at a time"), std::string::npos) << second->what();
  const auto replacing = failure_of([&] { graph{}.instantiate().update_or_reinstantiate(g); });
  ASSERT_TRUE(replacing);
  EXPECT_EQ(replacing->result(), errc::not_supported);
  EXPECT_NE(replacing->hint().find("one executable at a time"), std::string::npos)
      << replacing->what();
  exec.launch(s);
  s.sync();
}

TEST_F(MemoryNodes, CapturedMemoryNodesReturnTheirParameters) {
  const graph captured = capture(s, [&] {
    const memory_pool_ref pool = current_memory_pool(gpu);
    pool.deallocate(s, pool.allocate(s, 400));
  });
  const std::vector<graph_node> nodes = captured.nodes();
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].as<allocation_node>().address(), nodes[1].as<free_node>().address());
  EXPECT_GE(nodes[0].as<allocation_node>().bytes(), 400u);
}

TEST_F(MemoryNodes, SeveralDevicesMayUseTheMemory) {
  if (device::count() < 2 || !device{1}.can_access(gpu))
    GTEST_SKIP() << "needs two devices with peer access";
  const device second{1};
  const device also[] = {second};
  const allocation_node a = g.add(allocation_parameters{gpu, 400, also});
  static_cast<void>(g.add(fill_parameters{a.memory<int>(), 5}, {a}));
  const graph_exec exec = g.instantiate();
  exec.launch(s);
  s.sync();
  stream t{second};
  copy(t, a.memory<int>(), host);
  t.sync();
  EXPECT_EQ(host[0], 5);
  static_cast<void>(buffer<int>::adopt(s, a.memory<int>().data(), 100));
  s.sync();
}

// Parameters keep a copy of the list of devices.
TEST_F(MemoryNodes, ParametersOutliveTheListOfDevices) {
  std::vector<device> also{gpu};
  const allocation_parameters what{gpu, 400, also};
  also[0] = device{1000};
  EXPECT_EQ(g.add(what).bytes(), 400u);
}

TEST_F(MemoryNodes, GraphMemoryUsageIsCounted) {
  trim_graph_memory(gpu);
  reset_graph_memory_marks(gpu);
  const unsigned long long before = graph_memory_of(gpu).used;
  const allocation_node a = g.add(allocation_parameters{gpu, 1 << 20});
  const graph_exec exec = g.instantiate();
  exec.launch(s);
  s.sync();
  const graph_memory_usage live = graph_memory_of(gpu);
  EXPECT_GE(live.used, before + (1 << 20));
  EXPECT_GE(live.used_high, live.used);
  EXPECT_GE(live.reserved, live.used);
  auto x = buffer<int>::adopt(s, a.memory<int>().data(), 1 << 18);
  x.close();
  s.sync();
  EXPECT_EQ(result_of([&] { static_cast<void>(graph_memory_of(device{1000})); }),
            errc::invalid_device);
  EXPECT_EQ(result_of([&] { trim_graph_memory(device{1000}); }), errc::invalid_device);
}

}  // namespace
}  // namespace weir
