// SPDX-License-Identifier: Apache-2.0
// capture_fixture.hpp - two streams to capture, and memory whose contents show which work has run.
#pragma once

#include <weir/capture/capture.hpp>
#include <weir/core/error.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/nodes/empty_node.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <string>

#include <gtest/gtest.h>

namespace weir::test {

class capture_fixture : public ::testing::Test {
 protected:
  [[nodiscard]] int first_element() {
    copy(s, x, host);
    s.sync();
    return host[0];
  }
  // Expects that no stream captures and that the streams accept work.
  void expect_not_capturing() {
    EXPECT_EQ(capture_status_of(s), capture_status::none);
    EXPECT_EQ(capture_status_of(t), capture_status::none);
    fill(s, x, 77);
    EXPECT_EQ(first_element(), 77);
    t.sync();
  }
  // Joins t to the capture of s and queues work of its own on t.
  void fork() {
    t.wait(s);
    fill(t, y, 5);
  }
  // Calls use(node, named) with nodes that do not belong to the captured graph. The error for each
  // contains `named`.
  template <class Use>
  static void for_each_foreign_node(const Use& use) {
    graph other;
    const graph_node foreign = other.add(empty_parameters{});
    other.tag(foreign, "theirs");
    use(foreign, "theirs");
    use(graph_node{foreign.get()},
        "is not a node of the captured graph");  // nothing tells which graph it belongs to
    use(graph_node{}, "no node");
  }
  [[nodiscard]] static bool message_contains(const error& e, const std::string& what) {
    return std::string{e.what()}.find(what) != std::string::npos;
  }

  device gpu;
  stream s{gpu};
  stream t{gpu};
  buffer<int> x{s, 100};
  buffer<int> y{s, 100};
  pinned_buffer<int> host{100};
};

}  // namespace weir::test
