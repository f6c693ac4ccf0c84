// SPDX-License-Identifier: Apache-2.0
// buffer_end_in_captures_test.cpp - the end of a buffer while several captures are open, or after a
// capture that used it has ended.
#include <weir/capture/capture.hpp>
#include <weir/capture/capture_frontier.hpp>
#include <weir/capture/capture_to.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/nodes/child_graph_node.hpp>
#include <weir/graph/nodes/conditional_node.hpp>

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "captured_memory_fixture.hpp"
#include "support/errors.hpp"

namespace weir {
namespace {

using test::result_of;

class BufferEndInCaptures : public test::captured_memory_fixture {
 protected:
  using end_function = std::function<void(optional_buffer&)>;

  // The nodes that the next operation of a capturing stream depends on.
  [[nodiscard]] static std::vector<graph_node> frontier_of(stream_ref captured) {
    std::vector<graph_node> nodes;
    for (const auto& each : capture_info_of(captured).frontier) nodes.push_back(each.node);
    return nodes;
  }
  // Adds a conditional node at the frontier of s, which becomes the new frontier. Returns its body.
  [[nodiscard]] graph_ref add_body(const capture_scope& scope) {
    const condition once{scope.graph(), 1};
    const auto node = scope.graph().add(if_parameters{once}, frontier_of(s));
    update_capture_dependencies(s, node, dependency_update::set);
    return node.body();
  }
  // Expects that the graph frees what it allocates, and that repeated launches copy `value` to the
  // host and take no more memory.
  void expect_complete(const graph& g, int value) {
    const auto count = [&](node_kind kind) {
      const std::vector<graph_node> nodes = g.nodes();
      return std::ranges::count_if(nodes, [=](graph_node node) { return node.kind() == kind; });
    };
    EXPECT_EQ(count(node_kind::allocation), 1);
    EXPECT_EQ(count(node_kind::free), 1);
    const graph_exec run = g.instantiate();
    run.launch(s);
    s.sync();
    const auto used_once = graph_memory_of(gpu).used;
    for (int launch = 2; launch <= 4; ++launch) {
      host[0] = 0;
      run.launch(s);
      s.sync();
      EXPECT_EQ(host[0], value) << "launch " << launch;
    }
    EXPECT_EQ(graph_memory_of(gpu).used, used_once);
  }
  // Captures a graph whose condition copies a buffer to the host. The body's capture ends the
  // buffer.
  [[nodiscard]] graph capture_with_end_in_body(const end_function& end) {
    optional_buffer x;
    return capture(s, [&](const capture_scope& scope) {
      fill(s, x.emplace(s, size), 3);
      capture_to(t, add_body(scope), [&] {
        copy(t, *x, host);
        end(x);
        EXPECT_EQ(capture_status_of(s), capture_status::active);
        EXPECT_EQ(capture_status_of(t), capture_status::active);
      });
    });
  }

  stream t{gpu};
};

TEST_F(BufferEndInCaptures, ABufferDestroyedInTheCaptureOfABodyIsFreedByItsOwnCapture) {
  expect_complete(capture_with_end_in_body([](optional_buffer& x) { x.reset(); }), 3);
}

TEST_F(BufferEndInCaptures, ABufferClosedInTheCaptureOfABodyIsFreedByItsOwnCapture) {
  expect_complete(capture_with_end_in_body([](optional_buffer& x) { x->close(); }), 3);
}

TEST_F(BufferEndInCaptures, ABufferClosedOnAStreamOfAnotherCaptureIsFreedByItsOwnCapture) {
  expect_complete(capture_with_end_in_body([this](optional_buffer& x) { x->close(t); }), 3);
}

// The other graph is not part of the first one, so only the first one frees the memory.
TEST_F(BufferEndInCaptures, ABufferThatEndsInAnIndependentCaptureBreaksNeitherCapture) {
  std::optional<graph> part;
  const graph g = capture(s, [&] {
    optional_buffer x{std::in_place, s, size};
    fill(s, *x, 3);
    part.emplace(capture(t, [&] {
      copy(t, *x, host);
      x.reset();
    }));
    fill(s, x.emplace(s, size), 4);
  });
  EXPECT_EQ(g.node_count(), 6u);
  EXPECT_EQ(part->node_count(), 1u);
}

TEST_F(BufferEndInCaptures, AUseInTheBodyOfAConditionNeedsNoWait) {
  const graph g = capture(s, [&](const capture_scope& scope) {
    buffer<int> x{s, size};
    fill(s, x, 4);
    capture_to(t, add_body(scope), [&] { copy(t, x, host); });
  });
  expect_complete(g, 4);
}

TEST_F(BufferEndInCaptures, AUseInAChildGraphNeedsNoWait) {
  const graph g = capture(s, [&](const capture_scope& scope) {
    buffer<int> x{s, size};
    const graph part = capture(t, [&] { fill(t, x, 5); });
    const auto node = scope.graph().add(child_graph_parameters{part}, frontier_of(s));
    update_capture_dependencies(s, node, dependency_update::set);
    copy(s, x, host);
  });
  expect_complete(g, 5);
}

// The free comes after a use on a stream of its own capture, although another capture used the
// memory on a third stream.
TEST_F(BufferEndInCaptures, AFreeWaitsForTheUsesInItsOwnCaptureOnly) {
  const stream u{gpu};
  const graph g = capture(s, [&](const capture_scope& scope) {
    buffer<int> x{s, size};
    fill(s, x, 4);
    capture_to(t, add_body(scope), [&] { fill(t, x, 6); });
    u.wait(s);
    copy(u, x, host);
    x.close();
  });
  EXPECT_EQ(g.nodes().back().kind(), node_kind::free);
  EXPECT_EQ(g.nodes().back().dependencies().size(), 2u);
  expect_complete(g, 6);
}

// The later capture names no earlier node, yet its free comes after all of them.
TEST_F(BufferEndInCaptures, ALaterCaptureIntoTheGraphFreesTheMemoryOfAnEarlierOne) {
  for (const bool closes : {false, true}) {
    graph g;
    optional_buffer x;
    capture_to(s, g, [&] {
      fill(s, x.emplace(s, size), 7);
      t.wait(s);
      copy(t, *x, host);
      s.wait(t);
    });
    capture_to(s, g, [&] { closes ? x->close() : x.reset(); });
    EXPECT_EQ(g.nodes().back().dependencies().size(), 1u);
    expect_complete(g, 7);
  }
}

// Memory from before the captures is freed after them.
TEST_F(BufferEndInCaptures, AnOrdinaryBufferThatTwoCapturesUsedBreaksNeitherCapture) {
  const auto captured = [&](const end_function& end) {
    optional_buffer x{std::in_place, s, size};
    std::optional<graph> part;
    const graph g = capture(s, [&] {
      fill(s, *x, 1);
      part.emplace(capture(t, [&] {
        copy(t, *x, host);
        end(x);
      }));
    });
    EXPECT_EQ(g.node_count(), 1u);
    EXPECT_EQ(part->node_count(), 1u);
    drain_deferred();
    EXPECT_EQ(deferred_count(), 0u);
  };
  captured([](optional_buffer& x) { x.reset(); });
  captured([](optional_buffer& x) { x->close(); });
  captured([&](optional_buffer& x) { x->close(t); });
}

TEST_F(BufferEndInCaptures, ABufferCannotBeGivenToAStreamOfAnotherCapture) {
  buffer<int> ordinary{s, 1};
  std::optional<graph> part;
  const graph g = capture(s, [&] {
    buffer<int> x{s, size};
    part.emplace(capture(t, [&] {
      EXPECT_EQ(result_of([&] { x.set_stream(t); }), errc::illegal_state);
      fill(t, x, 1);
    }));
    fill(s, x, 2);
  });
  EXPECT_EQ(g.node_count(), 3u);
  EXPECT_EQ(part->node_count(), 1u);
  static_cast<void>(capture(
      t, [&] { EXPECT_EQ(result_of([&] { ordinary.set_stream(t); }), errc::illegal_state); }));
}

}  // namespace
}  // namespace weir
