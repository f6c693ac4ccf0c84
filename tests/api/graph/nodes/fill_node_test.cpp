// SPDX-License-Identifier: Apache-2.0
// fill_node_test.cpp - nodes that set memory: one row and several, queried, changed, and memory
// that the graph keeps.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/nodes/fill_node.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/closure_probe.hpp"
#include "support/created_context.hpp"
#include "support/errors.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::result_of;

class FillNode : public ::testing::Test {
 protected:
  void launch() {
    g.instantiate().launch(s);
    s.sync();
  }
  [[nodiscard]] int at(std::size_t i) {
    copy(s, x, host);
    s.sync();
    return host[i];
  }

  device gpu;
  stream s{gpu};
  buffer<int> x{s, 100};
  pinned_buffer<int> host{100};
  graph g;
};

TEST_F(FillNode, ANodeFillsAllKindsOfMemory) {
  pinned_buffer<unsigned char> bytes{10};
  pinned_buffer<short> words{10};
  static_cast<void>(g.add(fill_parameters{x, -5}));
  static_cast<void>(g.add(fill_parameters{bytes, 7}));
  static_cast<void>(g.add(fill_parameters{std::span{words}.first(5), -9}));
  words[5] = 1;
  launch();
  EXPECT_EQ(at(99), -5);
  EXPECT_EQ(bytes[9], 7);
  EXPECT_EQ(words[4], -9);
  EXPECT_EQ(words[5], 1);
}

TEST_F(FillNode, ANodeReturnsItsParameters) {
  const fill_node node = g.add(fill_parameters{x, 5});
  const fill_parameters p = node.parameters();
  EXPECT_EQ(p.address(), x.data());
  EXPECT_EQ(p.value(), 5u);
  EXPECT_EQ(p.element_bytes(), 4u);
  EXPECT_EQ(p.width(), 100u);
  EXPECT_EQ(p.height(), 1u);
  const graph captured = capture(s, [&] { fill(s, x, 6); });
  EXPECT_EQ(captured.nodes().at(0).as<fill_node>().parameters().value(), 6u);
}

TEST_F(FillNode, ANodeFillsRows) {
  pinned_buffer<int> grid{8 * 6};
  const pitched_span<int> all{grid.data(), 8, 6, 8 * sizeof(int)};
  const fill_node node = g.add(fill_parameters{all.part(2, 1, 3, 4), 9});
  EXPECT_EQ(node.parameters().height(), 4u);
  EXPECT_EQ(node.parameters().pitch(), 32u);
  for (int& i : grid) i = 0;
  launch();
  int set = 0;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const bool inside = i % 8 >= 2 && i % 8 < 5 && i / 8 >= 1 && i / 8 < 5;
    EXPECT_EQ(grid[i], inside ? 9 : 0) << i;
    set += grid[i] == 9;
  }
  EXPECT_EQ(set, 12);
  const pitched_span<int> apart{grid.data(), 2, 1, 32, 2, 3};
  EXPECT_EQ(result_of([&] { static_cast<void>(fill_parameters{apart, 1}); }), errc::invalid_value);
}

// Existing executables do not change.
TEST_F(FillNode, AChangedNodeAffectsLaterExecutablesOnly) {
  const fill_node node = g.add(fill_parameters{x, 1});
  const graph_exec before = g.instantiate();
  node.set(fill_parameters{std::span<int>{x.data(), 50}, 2});
  EXPECT_EQ(node.parameters().width(), 50u);
  launch();
  EXPECT_EQ(at(0), 2);
  before.launch(s);
  EXPECT_EQ(at(0), 1);
}

TEST_F(FillNode, ANodeIsChangedInOneExecutable) {
  buffer<int> y{s, 100};
  fill(s, y, 0);
  s.sync();
  const fill_node node = g.add(fill_parameters{x, 1});
  graph_exec exec = g.instantiate();
  exec.set(node, fill_parameters{x, 2});
  exec.launch(s);
  EXPECT_EQ(at(99), 2);
  EXPECT_EQ(node.parameters().value(), 1u) << "the graph's node does not change";
  exec.set(node, fill_parameters{y, 3});
  exec.launch(s);
  EXPECT_EQ(at(99), 2);
  copy(s, y, host);
  s.sync();
  EXPECT_EQ(host[99], 3);
}

TEST_F(FillNode, InvalidParametersAreRefusedAndChangeNothing) {
  const fill_node node = g.add(fill_parameters{x, 1});
  graph_exec exec = g.instantiate();
  std::vector<int> pageable(10);
  graph other;
  const fill_node theirs = other.add(fill_parameters{x, 8});
  pinned_buffer<int> rows{20};
  const auto refused = [&](const fill_parameters& what) {
    EXPECT_EQ(result_of([&] { node.set(what); }), errc::invalid_value);
    EXPECT_EQ(result_of([&] { static_cast<void>(g.add(what)); }), errc::invalid_value);
    EXPECT_EQ(result_of([&] { exec.set(node, what); }), errc::invalid_value);
  };
  refused(fill_parameters{pageable, 2});
  refused(fill_parameters{std::span<int>{}, 2});
  refused(fill_parameters{x.data(), 2, 3, 1});
  refused(fill_parameters{x.data(), 2, 4, 1'000'000'000});
  refused(fill_parameters{pitched_span<int>{rows.data(), 4, 2, 2}, 2});
  EXPECT_EQ(result_of([&] { exec.set(theirs, fill_parameters{x, 2}); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { exec.set(fill_node{}, fill_parameters{x, 2}); }), errc::invalid_value);
  const auto foreign = failure_of([&] { exec.set(theirs, fill_parameters{x, 2}); });
  EXPECT_NE(foreign->hint().find("not from the graph that was instantiated"), std::string::npos)
      << foreign->what();
  const auto rank = failure_of([&] {
    exec.set(node, fill_parameters{pitched_span<int>{rows.data(), 4, 2, 16}, 2});
  });
  ASSERT_TRUE(rank) << "the number of dimensions cannot change";
  EXPECT_NE(rank->hint().find("rows"), std::string::npos) << rank->what();
  EXPECT_EQ(node.parameters().value(), 1u);
  exec.launch(s);
  EXPECT_EQ(at(0), 1);
}

TEST_F(FillNode, ClosedMemoryIsRefused) {
  pinned_buffer<int> gone{10};
  gone.close();
  const auto failure = failure_of([&] { static_cast<void>(g.add(fill_parameters{gone, 1})); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::closed);
}

// H24 for graphs built by hand: an owner that is moved in lives as long as a launch may use it.
TEST_F(FillNode, ANodeKeepsMemoryThatIsMovedIntoIt) {
  std::optional<graph_exec> exec;
  int* address = nullptr;
  {
    graph mine;
    pinned_buffer<int> y{10};
    address = y.data();
    static_cast<void>(mine.add(fill_parameters{std::move(y), 4}));
    EXPECT_TRUE(y.closed());
    exec = mine.instantiate();
  }
  drain_deferred();
  exec->launch(s);
  s.sync();
  EXPECT_EQ(address[9], 4);
}

TEST_F(FillNode, ANodeReleasesSharedMemoryThatIsReplaced) {
  const auto y = std::make_shared<pinned_buffer<int>>(10);
  {
    graph mine;
    const fill_node node = mine.add(fill_parameters{y, 4});
    EXPECT_EQ(y.use_count(), 2);
    std::optional<graph_exec> exec{mine.instantiate()};
    node.set(fill_parameters{x, 4});
    drain_deferred();
    EXPECT_EQ(y.use_count(), 2) << "the executable keeps its share";
    exec.reset();
    s.sync();
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (y.use_count() != 1 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  EXPECT_EQ(y.use_count(), 1);
}

// Rule 149: replaced memory lives until no launch can use it, and no longer.
TEST_F(FillNode, AnExecutableReleasesMemoryThatIsReplaced) {
  const fill_node node = g.add(fill_parameters{x, 1});
  graph_exec exec = g.instantiate();
  std::weak_ptr<pinned_buffer<int>> last;
  for (int i = 0; i < 20; ++i) {
    const auto y = std::make_shared<pinned_buffer<int>>(10);
    exec.set(node, fill_parameters{y, i});
    exec.launch(s);
    s.sync();
    drain_deferred();
    EXPECT_TRUE(last.expired()) << i;
    EXPECT_EQ((*y)[9], i);
    last = y;
  }
  EXPECT_FALSE(last.expired());
  exec.set(node, fill_parameters{x, 1});
  drain_deferred();
  EXPECT_TRUE(last.expired());
}

// The node uses the memory's context; no context or another one may be current.
TEST_F(FillNode, ANodeNeedsNoCurrentContext) {
  static_cast<void>(g.add(fill_parameters{x, 11}));
  static_cast<void>(g.add(fill_parameters{host, 12}));
  launch();
  EXPECT_EQ(host[0], 12);
  EXPECT_EQ(at(0), 11);
}

TEST_F(FillNode, ANodeWorksWhileAnotherContextIsCurrent) {
  const test::created_context other{gpu};
  const context_scope current{static_cast<context_ref>(other)};
  const fill_node node = g.add(fill_parameters{x, 11});
  graph_exec exec = [&] {
    const context_scope own{gpu};
    return g.instantiate();
  }();
  exec.set(node, fill_parameters{x, 12});
  exec.launch(s);
  EXPECT_EQ(at(0), 12);
}

TEST_F(FillNode, ReturnedParametersShareOwnershipOfTheKeptMemory) {
  const auto y = std::make_shared<pinned_buffer<int>>(10);
  const fill_node a = g.add(fill_parameters{y, 7});
  a.set(a.parameters());
  EXPECT_TRUE(*detail::node_access::owners_in_exec(a.parameters(), {}).first);
  g.remove(a);
  const fill_node b = g.add(fill_parameters{*y, 8});
  EXPECT_FALSE(*detail::node_access::owners_in_exec(b.parameters(), {}).first);
}

}  // namespace
}  // namespace weir
