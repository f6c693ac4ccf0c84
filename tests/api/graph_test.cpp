// graph_test.cpp - graphs and their executables: asked, copied, drawn, launched, updated, destroyed.
#include <weir/buffer.hpp>
#include <weir/capture.hpp>
#include <weir/context.hpp>
#include <weir/copy.hpp>
#include <weir/deferred.hpp>
#include <weir/fill.hpp>
#include <weir/graph.hpp>
#include <weir/graph_exec.hpp>
#include <weir/host_function.hpp>
#include <weir/pinned_buffer.hpp>
#include <weir/to_string.hpp>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"
#include "support/own_context.hpp"
#include "support/witness.hpp"

namespace weir {
namespace {

using detail::driver;
using test::failure_of;
using test::gate;
using test::result_of;

class Graph : public ::testing::Test {
 protected:
  [[nodiscard]] int first() {
    copy(s, x, host);
    s.sync();
    return host[0];
  }
  [[nodiscard]] graph one_fill(int value) {
    return capture(s, [&] { fill(s, x, value); });
  }
  // Each a node after all of the one before.
  [[nodiscard]] graph fills(int first, int count) {
    return capture(s, [&] {
      for (int i = 0; i < count; ++i) fill(s, x, first + i);
    });
  }
  // s: a -> b -> d, t: a -> c -> d
  [[nodiscard]] graph diamond() {
    return capture(s, [&] {
      fill(s, x, 1);
      t.wait(s);
      fill(s, x, 2);
      launch_host(t, [] {});
      s.wait(t);
      fill(s, x, 3);
    });
  }

  device gpu;
  stream s{gpu};
  stream t{gpu};
  buffer<int> x{s, 100};
  pinned_buffer<int> host{100};
};

TEST_F(Graph, AnEmptyOneHasNothingAndCanBeLaunched) {
  const graph g;
  EXPECT_EQ(g.node_count(), 0u);
  EXPECT_TRUE(g.nodes().empty());
  EXPECT_TRUE(g.roots().empty());
  EXPECT_TRUE(g.edges().empty());
  const context_scope current{gpu};
  g.instantiate().launch(s);
  s.sync();
}

TEST_F(Graph, TellsItsNodesInOrder) {
  const graph g = diamond();
  const std::vector<graph_node> nodes = g.nodes();
  ASSERT_EQ(nodes.size(), 4u);
  EXPECT_EQ(g.node_count(), 4u);
  EXPECT_EQ(g.roots(), std::vector{nodes[0]});
  const std::vector<graph_edge> edges = g.edges();
  EXPECT_EQ(edges.size(), 4u);
  const auto place = [&](graph_node n) { return std::ranges::find(nodes, n) - nodes.begin(); };
  for (const graph_edge& edge : edges) {
    EXPECT_LT(place(edge.from), place(edge.to));
    EXPECT_EQ(edge.data, edge_data{});
  }
  EXPECT_EQ(nodes[0].kind(), node_kind::fill);
  EXPECT_EQ(std::ranges::count(nodes, node_kind::host_function, [](graph_node n) { return n.kind(); }), 1);
}

// I5: whatever order the driver lists them in.
TEST_F(Graph, NodesAddedBackwardsAreToldForwards) {
  const graph g;
  constexpr std::size_t count = 20;
  std::vector<abi::CUgraphNode> added(count);
  for (abi::CUgraphNode& node : added) {
    ASSERT_EQ(driver().cuGraphAddEmptyNode(&node, g.get(), nullptr, 0), abi::CUDA_SUCCESS);
  }
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const abi::CUgraphNode from = added[i + 1];
    const abi::CUgraphNode to = added[i];
    ASSERT_EQ(driver().cuGraphAddDependencies_v2(g.get(), &from, &to, nullptr, 1), abi::CUDA_SUCCESS);
  }
  const std::vector<graph_node> nodes = g.nodes();
  ASSERT_EQ(nodes.size(), count);
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(nodes[i].get(), added[count - 1 - i]);
}

// Rule 130's twin: what cannot be instantiated says why; a cycle can be built, and listed.
TEST_F(Graph, ACycleIsNamedWhereItIsInstantiated) {
  const graph g;
  abi::CUgraphNode a = nullptr;
  abi::CUgraphNode b = nullptr;
  ASSERT_EQ(driver().cuGraphAddEmptyNode(&a, g.get(), nullptr, 0), abi::CUDA_SUCCESS);
  ASSERT_EQ(driver().cuGraphAddEmptyNode(&b, g.get(), &a, 1), abi::CUDA_SUCCESS);
  ASSERT_EQ(driver().cuGraphAddDependencies_v2(g.get(), &b, &a, nullptr, 1), abi::CUDA_SUCCESS);
  EXPECT_EQ(g.nodes().size(), 2u);
  const context_scope current{gpu};
  const auto failure = failure_of([&] { static_cast<void>(g.instantiate()); });
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->advice().find("cycle"), std::string::npos) << failure->what();
}

TEST_F(Graph, ACloneIsItsOwnGraph) {
  std::optional<graph> g{one_fill(4)};
  const graph copy = g->clone();
  EXPECT_NE(copy.get(), g->get());
  const graph_node original = g->nodes().at(0);
  EXPECT_EQ(copy.find_clone_of(original), copy.nodes().at(0));
  EXPECT_NE(copy.nodes().at(0), original);
  g.reset();
  fill(s, x, 0);
  copy.instantiate().launch(s);
  EXPECT_EQ(first(), 4);
}

TEST_F(Graph, WhatItKeepsItsCloneKeeps) {
  test::fate f;
  std::optional<graph> g{one_fill(4)};
  g->keep(test::witness{f});
  std::optional<graph> copy{g->clone()};
  g.reset();
  drain_deferred();
  EXPECT_EQ(f.destructions, 0);
  copy.reset();
  EXPECT_TRUE(test::is_destroyed_once(f));
}

// Rule 151.
TEST_F(Graph, IsDescribedWithoutAFileLeft) {
  const graph g = diamond();
  static_cast<void>(g.dot());  // what a driver opens for good, it opens now
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator{"/proc/self/fd"}, std::filesystem::directory_iterator{});
  };
  const auto before = open_files();
  const std::string text = g.dot();
  EXPECT_NE(text.find("digraph"), std::string::npos) << text;
  EXPECT_GE(std::ranges::count(text, '>'), 4) << text;  // an arrow an edge
  EXPECT_GT(g.dot(dot_detail::verbose | dot_detail::handles).size(), text.size());
  EXPECT_EQ(open_files(), before);
}

TEST_F(Graph, ClosedAndMovedOnesSaySo) {
  graph g = one_fill(1);
  const graph taken = std::move(g);
  EXPECT_TRUE(g.closed());
  EXPECT_EQ(to_string(g), "closed graph");
  EXPECT_EQ(result_of([&] { static_cast<void>(g.nodes()); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(g.instantiate()); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(g.dot()); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(g.release()); }), errc::closed);
  EXPECT_EQ(result_of([&] { g.keep(1); }), errc::closed);
  g.close();
  g = one_fill(2);
  EXPECT_EQ(g.node_count(), 1u);
  g.close();
  g.close();
  EXPECT_EQ(taken.node_count(), 1u);
  EXPECT_EQ(result_of([&] { static_cast<void>(graph_node{}.kind()); }), errc::invalid_value);
}

TEST_F(Graph, IsAdoptedAndReleased) {
  CUgraph_st* const handle = one_fill(6).release();
  const graph g = graph::adopt(handle, gpu.primary_context());
  EXPECT_EQ(g.get(), handle);
  g.instantiate().launch(s);
  EXPECT_EQ(first(), 6);
  EXPECT_EQ(result_of([&] { static_cast<void>(graph::adopt(nullptr)); }), errc::invalid_handle);
  EXPECT_EQ(result_of([&] { static_cast<void>(graph_exec::adopt(nullptr)); }), errc::invalid_handle);
  const graph_exec exec = graph_exec::adopt(g.instantiate({.auto_free_on_launch = true}).release());
  EXPECT_TRUE(exec.options().auto_free_on_launch);
  exec.launch(s);
  s.sync();
}

// Rules 138, 139 and 148.
TEST_F(Graph, IsLaunchedOftenAndNeedsItsDefinitionNoMore) {
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

TEST_F(Graph, ALaunchIsOneOperationOfItsStream) {
  const graph_exec exec = fills(1, 10).instantiate();
  gate held{s};
  fill(s, x, 100);
  exec.launch(s);
  EXPECT_FALSE(s.done()) << "a launch does not overtake, and does not block";
  held.open();
  EXPECT_EQ(first(), 10);
}

// Rule 140.
TEST_F(Graph, TheExecutableMayGoWhileItRuns) {
  test::fate f;
  {
    const graph g = one_fill(5);
    g.keep(test::witness{f});
    gate held{s};
    {
      const graph_exec exec = g.instantiate();
      exec.launch(s);
    }
    EXPECT_EQ(f.destructions, 0);
    held.open();
    EXPECT_EQ(first(), 5);
  }
  EXPECT_TRUE(test::is_destroyed_once(f));
}

TEST_F(Graph, AnUploadRunsNothing) {
  fill(s, x, 1);
  const graph g = one_fill(2);
  const graph_exec exec = g.instantiate();
  exec.upload(s);
  EXPECT_EQ(first(), 1);
  const graph_exec uploaded = g.instantiate({.upload_in = s});
  EXPECT_EQ(first(), 1);
  uploaded.launch(s);
  EXPECT_EQ(first(), 2);
}

// Rules 135 and 147.
TEST_F(Graph, OptionsAreCheckedAndRead) {
  const graph g = one_fill(2);
  const auto refused =
      failure_of([&] { static_cast<void>(g.instantiate({.auto_free_on_launch = true, .device_launch = true})); });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->result(), errc::invalid_value);
  EXPECT_NE(refused->advice().find("choose one"), std::string::npos) << refused->what();
  const instantiate_options plain = g.instantiate({.upload_in = s}).options();
  EXPECT_FALSE(plain.auto_free_on_launch);
  EXPECT_FALSE(plain.device_launch);
  EXPECT_FALSE(plain.upload_in);
  EXPECT_TRUE(g.instantiate({.auto_free_on_launch = true}).options().auto_free_on_launch);
  EXPECT_TRUE(g.instantiate({.node_priorities = true}).options().node_priorities);
}

// The driver wants a context to instantiate in; the caller's own is not the question.
TEST_F(Graph, IsInstantiatedInTheContextItWasCapturedIn) {
  static abi::CUcontext where = nullptr;
  static const detail::driver_table* real = nullptr;
  real = &driver();
  detail::driver_table watched = *real;
  watched.cuGraphInstantiateWithParams = [](abi::CUgraphExec* exec, abi::CUgraph g,
                                            abi::CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
    EXPECT_EQ(real->cuCtxGetCurrent(&where), abi::CUDA_SUCCESS);
    return real->cuGraphInstantiateWithParams(exec, g, params);
  };
  const test::own_context own{gpu};
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
    EXPECT_EQ(instantiated_in(by_hand), gpu.primary_context()) << "none is current in a new thread";
    EXPECT_FALSE(current_context());
  }}.join();
  detail::table_in_use = real;
}

TEST_F(Graph, IsUpdatedToOtherParameters) {
  graph_exec exec = one_fill(1).instantiate();
  gate held{s};
  exec.launch(s);
  copy(s, x, host);
  EXPECT_TRUE(exec.update(one_fill(2)));
  held.open();
  s.sync();
  EXPECT_EQ(host[0], 1) << "a launch that is queued stays what it was";
  exec.launch(s);
  EXPECT_EQ(first(), 2);
}

// Rules 141 and 142.
TEST_F(Graph, AnUpdateThatCannotBeIsAValueAndChangesNothing) {
  graph_exec exec = one_fill(1).instantiate();
  const graph longer = fills(2, 2);
  const graph_update more = exec.update(longer);
  EXPECT_FALSE(more);
  EXPECT_EQ(more.reason, update_reason::topology);
  const graph other = capture(s, [&] { launch_host(s, [] {}); });
  const graph_update kind = exec.update(other);
  EXPECT_FALSE(kind);
  EXPECT_EQ(kind.reason, update_reason::node_kind);
  EXPECT_EQ(kind.node, other.nodes().at(0));
  exec.launch(s);
  EXPECT_EQ(first(), 1);
}

// Rule 149: what the old parameters need lives until no launch can use them.
TEST_F(Graph, AnUpdateTakesOverWhatIsKept) {
  test::fate old_one;
  test::fate new_one;
  std::optional<graph_exec> exec;
  {
    const graph g = one_fill(1);
    g.keep(test::witness{old_one});
    exec.emplace(g.instantiate());
  }
  {
    gate held{s};
    exec->launch(s);
    const graph g = one_fill(2);
    g.keep(test::witness{new_one});
    ASSERT_TRUE(exec->update(g));
    drain_deferred();
    EXPECT_EQ(old_one.destructions, 0) << "a launch needs it";
  }
  s.sync();
  EXPECT_TRUE(test::is_destroyed_once(old_one));
  EXPECT_EQ(new_one.destructions, 0);
  exec.reset();
  EXPECT_TRUE(test::is_destroyed_once(new_one));
}

TEST_F(Graph, IsMadeAnewWhereItCannotBeUpdated) {
  graph_exec exec = one_fill(1).instantiate({.auto_free_on_launch = true});
  CUgraphExec_st* const before = exec.get();
  EXPECT_TRUE(exec.update_or_reinstantiate(one_fill(2)));
  EXPECT_EQ(exec.get(), before);
  gate held{s};
  exec.launch(s);
  copy(s, x, host);
  const graph_update answer = exec.update_or_reinstantiate(fills(5, 3));
  EXPECT_EQ(answer.reason, update_reason::topology);
  EXPECT_TRUE(exec.options().auto_free_on_launch);
  held.open();
  s.sync();
  EXPECT_EQ(host[0], 2) << "what was launched runs to its end";
  exec.launch(s);
  EXPECT_EQ(first(), 7);
}

TEST_F(Graph, ClosedExecutablesSaySo) {
  graph_exec exec = one_fill(1).instantiate();
  const graph_exec taken = std::move(exec);
  EXPECT_TRUE(exec.closed());
  EXPECT_EQ(result_of([&] { exec.launch(s); }), errc::closed);
  EXPECT_EQ(result_of([&] { exec.upload(s); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(exec.update(one_fill(1))); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(exec.options()); }), errc::closed);
  exec.close();
  exec = one_fill(3).instantiate();
  exec.launch(s);
  exec.close();
  EXPECT_EQ(first(), 3);
}

TEST_F(Graph, InHostFunctionsTheyMayEndAndNothingElse) {
  auto g = std::make_unique<graph>(one_fill(1));
  auto exec = std::make_unique<graph_exec>(g->instantiate());
  std::vector<errc> answers;
  launch_host(s, [&] {
    answers = {result_of([&] { static_cast<void>(g->node_count()); }),
               result_of([&] { static_cast<void>(g->instantiate()); }), result_of([&] { exec->launch(t); })};
    g.reset();
    exec.reset();
  });
  s.sync();
  EXPECT_EQ(answers, std::vector(3, errc::not_permitted));
  drain_deferred();
  EXPECT_EQ(deferred_count(), 0u);
}

}  // namespace
}  // namespace weir
