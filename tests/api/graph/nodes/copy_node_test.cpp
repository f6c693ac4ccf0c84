// SPDX-License-Identifier: Apache-2.0
// copy_node_test.cpp - nodes that copy rows and boxes between memories of all kinds.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/nodes/copy_node.hpp>
#include <weir/graph/nodes/fill_node.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/managed_buffer.hpp>
#include <weir/memory/memory_pool.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/errors.hpp"
#include "support/fault_table.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::failure_of;
using test::result_of;

class CopyNode : public ::testing::Test {
 protected:
  void launch() {
    g.instantiate().launch(s);
    s.sync();
  }

  device gpu;
  stream s{gpu};
  buffer<int> x{s, 100};
  buffer<int> y{s, 100};
  pinned_buffer<int> in{100};
  pinned_buffer<int> out{100};
  graph g;
};

TEST_F(CopyNode, ANodeCopiesBetweenAllKindsOfMemory) {
  std::vector<int> pageable(100);
  managed_buffer<int> managed{100, gpu};
  for (int i = 0; i < 100; ++i) in[static_cast<std::size_t>(i)] = i;
  const copy_node a = g.add(copy_parameters{in, x});
  const copy_node b = g.add(copy_parameters{x, y}, {a});
  const copy_node c = g.add(copy_parameters{y, managed}, {b});
  const copy_node d = g.add(copy_parameters{managed, out}, {c});
  const copy_node e = g.add(copy_parameters{out, pageable}, {d});
  static_cast<void>(e);
  launch();
  EXPECT_EQ(out[99], 99);
  EXPECT_EQ(pageable[98], 98);
}

TEST_F(CopyNode, ANodeReturnsItsParameters) {
  const copy_node node = g.add(copy_parameters{in, x});
  const copy_parameters p = node.parameters();
  EXPECT_EQ(p.source().kind, copy_side::memory::host);
  EXPECT_EQ(p.source().address, in.data());
  EXPECT_EQ(p.target().kind, copy_side::memory::device);
  EXPECT_EQ(p.target().address, x.data());
  EXPECT_EQ(p.width_bytes(), 400u);
  EXPECT_EQ(p.height(), 1u);
  EXPECT_EQ(p.depth(), 1u);
  // Returned parameters can be used to add another node.
  const copy_node same = g.add(p);
  EXPECT_EQ(same.parameters().target().address, p.target().address);
  const graph captured = capture(s, [&] { copy(s, x, out); });
  EXPECT_EQ(captured.nodes().at(0).as<copy_node>().parameters().width_bytes(), 400u);
}

TEST_F(CopyNode, ANodeCopiesRows) {
  for (int i = 0; i < 100; ++i) in[static_cast<std::size_t>(i)] = i;
  for (int& i : out) i = -1;
  const pitched_span<const int> from{in.data(), 10, 10, 10 * sizeof(int)};
  const pitched_span<int> to{out.data(), 4, 5, 20 * sizeof(int)};
  static_cast<void>(g.add(copy_parameters{from.part(3, 2, 4, 5), to}));
  launch();
  EXPECT_EQ(out[0], 23);
  EXPECT_EQ(out[3], 26);
  EXPECT_EQ(out[4], -1);
  EXPECT_EQ(out[20], 33);
  EXPECT_EQ(out[83], 66);
  EXPECT_EQ(result_of([&] { static_cast<void>(copy_parameters{from, to}); }), errc::invalid_value);
}

TEST_F(CopyNode, ANodeCopiesBoxes) {
  for (int i = 0; i < 100; ++i) in[static_cast<std::size_t>(i)] = i;
  for (int& i : out) i = -1;
  const pitched_span<int> from{in.data(), 2, 3, 5 * sizeof(int), 4, 5};  // slices of 5 x 5
  const pitched_span<int> to{out.data(), 2, 3, 2 * sizeof(int), 4, 3};   // packed
  static_cast<void>(g.add(copy_parameters{from, to}));
  launch();
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[1], 1);
  EXPECT_EQ(out[2], 5);
  EXPECT_EQ(out[6], 25);
  EXPECT_EQ(out[23], 86);
  EXPECT_EQ(out[24], -1);
}

TEST_F(CopyNode, ANodeCopiesFromAndToByteOffsets) {
  for (int i = 0; i < 100; ++i) in[static_cast<std::size_t>(i)] = i;
  copy_side from;
  from.address = in.data();
  from.x = 4 * sizeof(int);
  copy_side to;
  to.address = out.data();
  to.x = sizeof(int);
  static_cast<void>(g.add(copy_parameters{from, to, 2 * sizeof(int)}));
  out[0] = out[3] = -1;
  launch();
  EXPECT_EQ(out[0], -1);
  EXPECT_EQ(out[1], 4);
  EXPECT_EQ(out[2], 5);
  EXPECT_EQ(out[3], -1);
}

TEST_F(CopyNode, ANodeIsChangedInItsGraphAndInAnExecutable) {
  const copy_node node = g.add(copy_parameters{in, x});
  in[0] = 5;
  graph_exec exec = g.instantiate();
  node.set(copy_parameters{std::span{in}.first(1), x});
  EXPECT_EQ(node.parameters().width_bytes(), 4u);
  pinned_buffer<int> other{100};
  other[0] = 6;
  exec.set(node, copy_parameters{other, x});
  exec.launch(s);
  copy(s, x, out);
  s.sync();
  EXPECT_EQ(out[0], 6);
  exec.set(node, copy_parameters{std::span{in}.first(10), std::span<int>{y.data(), 10}});
  exec.launch(s);
  copy(s, y, out);
  s.sync();
  EXPECT_EQ(out[0], 5);
}

// copy() passes addresses to the driver, and a node added by hand passes kinds of memory. An
// executable accepts both, but no change from one to the other.
TEST_F(CopyNode, ACapturedNodeIsChangedInAnExecutable) {
  copy_node copies[3];
  const auto last = [&] { return capture_info_of(s).frontier.front().node.as<copy_node>(); };
  const graph captured = capture(s, [&] {
    copy(s, in, x);
    copies[0] = last();
    copy(s, x, y);
    copies[1] = last();
    copy(s, y, out);
    copies[2] = last();
  });
  graph_exec exec = captured.instantiate();
  pinned_buffer<int> other{100};
  other[0] = 6;
  in[0] = 5;
  exec.set(copies[0], copy_parameters{other, y});
  exec.set(copies[1], copy_parameters{y, x});
  exec.set(copies[2], copy_parameters{x, out});
  exec.launch(s);
  s.sync();
  EXPECT_EQ(out[0], 6);
  copies[0].set(copy_parameters{other, x});
  EXPECT_EQ(copies[0].parameters().width_bytes(), 400u);
  out[0] = 0;
  captured.instantiate().launch(s);
  s.sync();
  EXPECT_EQ(out[0], 6);
  copies[0].set(copy_parameters{in, y});
  graph_exec next = captured.instantiate();
  next.set(copies[0], copy_parameters{other, x});
  out[0] = 0;
  next.launch(s);
  s.sync();
  EXPECT_EQ(out[0], 6);
}

// A driver allows no other change of such nodes in an executable.
TEST_F(CopyNode, TheRowsOfANodeAreFixedInAnExecutable) {
  const auto rows_of = [](auto& memory, std::size_t from) {
    return pitched_span<int>{memory.data() + from, 5, 4, 40};
  };
  const copy_node node = g.add(copy_parameters{rows_of(in, 0), rows_of(x, 0)});
  g.add(copy_parameters{x, out}, {node});
  graph_exec exec = g.instantiate();
  exec.set(node, copy_parameters{rows_of(in, 0), rows_of(x, 0)});
  const auto other = failure_of([&] {
    exec.set(node, copy_parameters{rows_of(in, 5), rows_of(x, 0)});
  });
  ASSERT_TRUE(other);
  EXPECT_EQ(other->result(), errc::invalid_value);
  EXPECT_NE(other->hint().find("one-row"), std::string::npos) << other->what();
  node.set(copy_parameters{rows_of(in, 5), rows_of(x, 0)});
  const graph_update changed = exec.update(g);
  EXPECT_EQ(changed.reason, update_reason::parameters);
  EXPECT_EQ(changed.node, node);
  in[0] = 8;
  in[5] = 9;
  exec.launch(s);
  s.sync();
  EXPECT_EQ(out[0], 8);
  EXPECT_TRUE(exec.update_or_reinstantiate(g).reason == update_reason::parameters);
  exec.launch(s);
  s.sync();
  EXPECT_EQ(out[0], 9);
}

// Rule 150: the kind of a memory is queried, and cannot change in an executable.
TEST_F(CopyNode, InvalidParametersAreRefusedAndChangeNothing) {
  const copy_node node = g.add(copy_parameters{in, x});
  graph_exec exec = g.instantiate();
  in[0] = 5;
  const auto kinds = failure_of([&] { exec.set(node, copy_parameters{x, out}); });
  ASSERT_TRUE(kinds) << "the direction of the copy cannot change";
  EXPECT_EQ(kinds->result(), errc::invalid_value);
  EXPECT_NE(kinds->hint().find("same kinds"), std::string::npos) << kinds->what();
  EXPECT_EQ(result_of([&] { exec.set(node, copy_parameters{y, x}); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] {
              exec.set(node, copy_parameters{std::span<int>{}, x});
            }),
            errc::invalid_value);
  EXPECT_EQ(result_of([&] {
              node.set(copy_parameters{std::span<int>{}, x});
            }),
            errc::invalid_value);
  EXPECT_EQ(result_of([&] {
              static_cast<void>(g.add(copy_parameters{std::span<int>{}, x}));
            }),
            errc::invalid_value);
  EXPECT_EQ(result_of([&] {
              static_cast<void>(copy_parameters{x, std::span{out}.first(10)});
            }),
            errc::invalid_value);
  EXPECT_EQ(g.node_count(), 1u);
  exec.launch(s);
  copy(s, x, out);
  s.sync();
  EXPECT_EQ(out[0], 5);
  x.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(copy_parameters{in, x}); }), errc::closed);
}

// Returned parameters name no context: the context is that of the memory, whichever context is
// current.
TEST_F(CopyNode, ReturnedParametersAreSetInTheContextOfTheirMemory) {
  const copy_node a = g.add(copy_parameters{x, out});
  graph_exec exec = g.instantiate();
  const copy_parameters told = a.parameters();
  EXPECT_EQ(told.source().context, nullptr);
  const fault_table calls;
  exec.set(a, told);
  EXPECT_EQ(calls.count(&driver_table::cuPointerGetAttributes), 1);
}

TEST_F(CopyNode, ANullPointerIsRefused) {
  const std::shared_ptr<pinned_buffer<int>> none;
  EXPECT_EQ(result_of([&] { static_cast<void>(copy_parameters{none, x}); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { static_cast<void>(fill_parameters{none, 1}); }), errc::invalid_value);
}

TEST_F(CopyNode, ANodeKeepsMemoryThatIsMovedOrSharedIntoIt) {
  std::optional<graph_exec> exec;
  const auto result = std::make_shared<pinned_buffer<int>>(3);
  {
    graph mine;
    static_cast<void>(mine.add(copy_parameters{std::vector<int>{7, 8, 9}, result}));
    exec = mine.instantiate();
  }
  drain_deferred();
  EXPECT_EQ(result.use_count(), 2);
  exec->launch(s);
  s.sync();
  EXPECT_EQ((*result)[2], 9);
}

TEST_F(CopyNode, AnExecutableKeepsBothSidesOfAChangedCopy) {
  const copy_node node = g.add(copy_parameters{in, out});
  graph_exec exec = g.instantiate();
  exec.set(node, copy_parameters{std::vector<int>{1, 2, 3}, out});
  exec.launch(s);
  s.sync();
  EXPECT_EQ(out[2], 3);
  exec.set(node, copy_parameters{std::vector<int>{4, 5, 6, 7}, out});
  exec.launch(s);
  exec.close();
  s.sync();
  EXPECT_EQ(out[3], 7);
}

// The driver finds the devices by the addresses. The source's pool gives the target's device
// access.
TEST_F(CopyNode, ANodeCopiesBetweenDevices) {
  const device second{1};
  if (device::count() < 2 || !second.can_access(gpu))
    GTEST_SKIP() << "needs two devices with peer access";
  stream t{second};
  const memory_pool pool{gpu};
  buffer<int> here{pool, s, 100};
  buffer<int> there{t, 100};
  s.sync();
  t.sync();
  for (int& i : in) i = 31;
  const copy_node a = g.add(copy_parameters{in, here});
  EXPECT_EQ(result_of([&] {
              static_cast<void>(g.add(copy_parameters{here, there}, {a}));
            }),
            errc::invalid_value);
  pool.set_access(second, pool_access::read_write);
  const copy_node b = g.add(copy_parameters{here, there}, {a});
  static_cast<void>(g.add(copy_parameters{there, out}, {b}));
  launch();
  EXPECT_EQ(out[99], 31);
}

// Returned parameters can be set again and added to another graph.
TEST_F(CopyNode, ReturnedParametersShareOwnershipOfTheKeptMemory) {
  std::optional<graph_exec> exec;
  graph other;
  {
    const copy_node a = g.add(copy_parameters{std::vector<int>(100, 7), x});
    const copy_parameters read = a.parameters();
    EXPECT_TRUE(*detail::node_access::owners_in_exec(read, {}).first);
    a.set(read);
    EXPECT_TRUE(*detail::node_access::owners_in_exec(a.parameters(), {}).first)
        << "set() keeps the owner";
    exec = g.instantiate();
    static_cast<void>(other.add(read));
  }
  g.close();
  drain_deferred();
  exec->launch(s);
  fill(s, x, 0);
  other.instantiate().launch(s);
  copy(s, x, out);
  s.sync();
  EXPECT_EQ(out[99], 7);
  const copy_node named = other.add(copy_parameters{x, y});
  EXPECT_FALSE(*detail::node_access::owners_in_exec(named.parameters(), {}).first);
}

}  // namespace
}  // namespace weir
