// SPDX-License-Identifier: Apache-2.0
// value_batch_node_test.cpp - nodes that wait for words and write them.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/nodes/host_function_node.hpp>
#include <weir/graph/nodes/value_batch_node.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/sync/wait_word.hpp>

#include <cstdint>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "support/errors.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::result_of;

class ValueBatchNode : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
  wait_word<std::uint32_t> go;
  wait_word<std::uint32_t> done;
  graph g;
};

TEST_F(ValueBatchNode, ANodeWaitsForAValueAndWritesAValue) {
  value_batch step;
  step.wait(go, until::geq, 1).write(done, 7);
  const value_batch_node node = g.add(value_batch_parameters{step});
  step.clear();  // the node has its own copy
  EXPECT_EQ(node.parameters().batch().size(), 2u);
  const graph_exec exec = g.instantiate();
  exec.launch(s);
  EXPECT_FALSE(s.done());
  EXPECT_EQ(done.load(), 0u);
  go.store(1);
  s.sync();
  EXPECT_EQ(done.load(), 7u);
  exec.launch(s);
  s.sync();
}

TEST_F(ValueBatchNode, ANodeIsChangedInItsGraphAndInAnExecutable) {
  value_batch first;
  value_batch second;
  first.write(done, 1);
  second.write(done, 2);
  const value_batch_node node = g.add(value_batch_parameters{first, gpu.primary_context()});
  EXPECT_EQ(node.parameters().context(), gpu.primary_context());
  graph_exec exec = g.instantiate();
  exec.set(node, value_batch_parameters{second});
  exec.launch(s);
  s.sync();
  EXPECT_EQ(done.load(), 2u);
  value_batch third;
  third.write(done, 3).write(go, 3);
  node.set(value_batch_parameters{third});
  EXPECT_EQ(node.parameters().batch().size(), 2u);
  const auto count = failure_of([&] { exec.set(node, value_batch_parameters{third}); });
  ASSERT_TRUE(count);
  EXPECT_EQ(count->result(), errc::invalid_value);
  EXPECT_NE(count->hint().find("keep the number"), std::string::npos) << count->what();
  g.instantiate().launch(s);
  s.sync();
  EXPECT_EQ(go.load(), 3u);
}

TEST_F(ValueBatchNode, ACapturedNodeReturnsItsBatch) {
  value_batch step;
  step.write(done, 5);
  const graph captured = capture(s, [&] { step.submit(s); });
  const value_batch told = captured.nodes().at(0).as<value_batch_node>().parameters().batch();
  EXPECT_EQ(told.size(), 1u);
  static_cast<void>(g.add(value_batch_parameters{told}));
  g.instantiate().launch(s);
  s.sync();
  EXPECT_EQ(done.load(), 5u);
}

TEST_F(ValueBatchNode, InvalidBatchesAndForeignNodesAreRefused) {
  graph other;
  value_batch step;
  step.write(done, 5);
  const value_batch_node theirs = other.add(value_batch_parameters{step});
  graph_exec exec = g.instantiate();
  EXPECT_EQ(result_of([&] { exec.set(theirs, value_batch_parameters{step}); }),
            errc::invalid_value);
  value_batch many;
  for (int i = 0; i < 300; ++i) many.write(done, 1);
  EXPECT_EQ(result_of([&] { static_cast<void>(g.add(value_batch_parameters{many})); }),
            errc::invalid_value);
  pinned_buffer<unsigned char> bytes{16};
  value_batch crooked;
  crooked.write(wait_word_ref<std::uint32_t>{reinterpret_cast<std::uint32_t*>(bytes.data() + 1)},
                1);
  crooked.write(done, 1);
  const auto failure =
      failure_of([&] { static_cast<void>(g.add(value_batch_parameters{crooked})); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_value);
  EXPECT_NE(failure->hint().find("step 0 (of 0 to 1), a write to the 32-bit word at "),
            std::string::npos)
      << failure->what();
  EXPECT_EQ(g.node_count(), 0u);
}

// A word that the graph keeps lives as long as a launch may use it.
TEST_F(ValueBatchNode, AGraphKeepsAWordThatIsHandedOver) {
  std::optional<graph_exec> exec;
  {
    graph mine;
    wait_word<std::uint32_t> own;
    value_batch step;
    step.write(own, 5).write(done, 6);
    static_cast<void>(mine.add(value_batch_parameters{step}));
    mine.keep(std::move(own));
    exec = mine.instantiate();
  }
  exec->launch(s);
  s.sync();
  EXPECT_EQ(done.load(), 6u);
}

}  // namespace
}  // namespace weir
