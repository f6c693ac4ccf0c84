// SPDX-License-Identifier: Apache-2.0
// capture_to_body_test.cpp - bodies of conditional nodes that are filled by captures.
#include <weir/capture/capture_frontier.hpp>
#include <weir/capture/capture_to.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/nodes/child_graph_node.hpp>
#include <weir/graph/nodes/conditional_node.hpp>
#include <weir/graph/nodes/empty_node.hpp>
#include <weir/graph/nodes/fill_node.hpp>
#include <weir/memory/memory_pool.hpp>
#include <weir/stream/host_function.hpp>

#include <functional>
#include <stdexcept>

#include <gtest/gtest.h>

#include "capture_fixture.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::result_of;

class CaptureToBody : public test::capture_fixture {
 protected:
  void SetUp() override {
    if (!conditional_support_of_driver().if_and_while)
      GTEST_SKIP() << "the driver has no conditional nodes";
  }
};

TEST_F(CaptureToBody, ACaptureAddsNodesToAConditionalBody) {
  graph g;
  const auto node = g.add(if_parameters{condition{g, 1u}});
  fill(s, x, 1);
  capture_to(s, node.body(), [&] { fill(s, x, 2); });
  EXPECT_EQ(node.body().node_count(), 1u);
  g.instantiate().launch(s);
  EXPECT_EQ(first_element(), 2);
}

// Rule 128: the error names the operation, and the body does not change.
TEST_F(CaptureToBody, AnOperationThatABodyCannotContainIsNamed) {
  graph g;
  const auto node = g.add(if_parameters{condition{g, 1u}});
  const auto refused = failure_of([&] {
    capture_to(s, node.body(), [&] {
      fill(s, x, 2);
      launch_host(s, [] {});
    });
  });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->result(), errc::not_supported);
  EXPECT_TRUE(message_contains(*refused, "host function node")) << refused->what();
  EXPECT_EQ(node.body().node_count(), 0u);
  expect_not_capturing();
  capture_to(s, node.body(), [&] { fill(s, x, 3); });
  g.instantiate().launch(s);
  EXPECT_EQ(first_element(), 3);
}

// Drivers cannot remove memory nodes: once recorded, such a node would make the body permanently
// unusable.
TEST_F(CaptureToBody, AnAllocationInABodyIsRefusedBeforeItIsRecorded) {
  graph g;
  const auto node = g.add(if_parameters{condition{g, 1u}});
  const memory_pool pool{gpu};
  const std::function<void()> allocations[] = {[&] {
                                                 const buffer<int> own{s, 4};
                                               },
                                               [&] {
                                                 const buffer<int> own{t, 4};
                                               },
                                               [&] {
                                                 const buffer<int> own{pool, s, 4};
                                               },
                                               [&] { static_cast<void>(pool.allocate(t, 4)); }};
  for (const auto& allocate : allocations) {
    capture_to(s, node.body(), [&] {
      t.wait(s);
      const auto refused = failure_of(allocate);
      ASSERT_TRUE(refused) << &allocate - allocations;
      EXPECT_EQ(refused->result(), errc::not_supported);
      EXPECT_TRUE(message_contains(*refused, "cannot contain allocations")) << refused->what();
      s.wait(t);
    });
    EXPECT_EQ(result_of([&] { capture_to(s, node.body(), allocations[0]); }), errc::not_supported);
    EXPECT_EQ(node.body().node_count(), 0u);
  }
  capture_to(s, node.body(), [&] { fill(s, x, 4); });
  g.instantiate().launch(s);
  EXPECT_EQ(first_element(), 4);
}

TEST_F(CaptureToBody, TheParentGraphCannotBeUsedWhileItsBodyIsCapturedInto) {
  graph g;
  const auto node = g.add(if_parameters{condition{g, 1u}});
  graph_exec exec = g.instantiate();
  capture_to(s, node.body(), [&] {
    fill(s, x, 4);
    const std::function<void()> uses[] = {[&] { static_cast<void>(g.instantiate()); },
                                          [&] { static_cast<void>(exec.update(g)); },
                                          [&] { g.remove(node); }, [&] { g.close(); }};
    for (const auto& use : uses) {
      const auto refused = failure_of(use);
      ASSERT_TRUE(refused) << &use - uses;
      EXPECT_EQ(refused->result(), errc::illegal_state);
      EXPECT_TRUE(message_contains(*refused, "stays valid")) << refused->what();
    }
    const graph_node other = g.add(empty_parameters{});
    g.remove(other);
  });
  ASSERT_FALSE(g.closed());
  EXPECT_EQ(node.body().node_count(), 1u);
  exec.close();
  g.instantiate().launch(s);
  EXPECT_EQ(first_element(), 4);
}

// A body can be captured into while its parent graph is being captured.
TEST_F(CaptureToBody, ABodyCanBeCapturedIntoWhileItsParentGraphIsCaptured) {
  const graph g = capture(s, [&](capture_scope& scope) {
    const auto node = scope.graph().add(if_parameters{condition{scope.graph(), 1u}});
    capture_to(t, node.body(), [&] { fill(t, x, 4); });
    update_capture_dependencies(scope, node);
    copy(scope, x, host);
  });
  g.instantiate().launch(s);
  s.sync();
  EXPECT_EQ(host[0], 4);
}

// The graph under capture is invalid too, and is not destroyed, whatever its own capture returns.
TEST_F(CaptureToBody, ABrokenBodyCaptureInvalidatesTheGraphUnderCapture) {
  const test::unhandled_errors unhandled;
  for (const bool throws : {true, false}) {
    const detail::fault_table calls;
    const auto failure = failure_of([&] {
      static_cast<void>(capture(s, [&](capture_scope& scope) {
        const auto node = scope.graph().add(if_parameters{condition{scope.graph(), 1u}});
        const auto inside = failure_of([&] {
          capture_to(t, node.body(), [&] {
            EXPECT_NE(detail::driver().cuStreamQuery(t.get()), abi::CUDA_SUCCESS);
          });
        });
        ASSERT_TRUE(inside);
        EXPECT_EQ(inside->result(), errc::stream_capture_invalidated);
        if (throws) throw error{*inside};
      }));
    });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), throws ? errc::stream_capture_invalidated : errc::illegal_state)
        << failure->what();
    EXPECT_EQ(calls.count(&detail::driver_table::cuGraphDestroy), 0);
    expect_not_capturing();
  }
  EXPECT_EQ(unhandled.count(), 0u);
}

// The graph is not queried, and no node is removed from it.
TEST_F(CaptureToBody, ABrokenBodyCaptureInvalidatesAGraphThatIsCapturedInto) {
  const test::unhandled_errors unhandled;
  const detail::fault_table calls;
  int asked = 0;
  for (const bool of_the_whole : {true, false}) {
    graph g;
    const auto node = g.add(if_else_parameters{condition{g, 1u}});
    const auto break_one = [&] {
      fill(s, x, 4);
      capture_to(t, node.body(1), [&] {
        EXPECT_NE(detail::driver().cuStreamQuery(t.get()), abi::CUDA_SUCCESS);
        asked = calls.count(&detail::driver_table::cuGraphGetNodes);
      });
    };
    const auto failure =
        failure_of([&] { capture_to(s, of_the_whole ? g.ref() : node.body(0), break_one); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::stream_capture_invalidated) << failure->what();
    EXPECT_EQ(calls.count(&detail::driver_table::cuGraphGetNodes), asked);
    EXPECT_EQ(result_of([&] { static_cast<void>(g.nodes()); }), errc::illegal_state);
  }
  EXPECT_EQ(calls.count(&detail::driver_table::cuGraphDestroy), 0);
  EXPECT_EQ(unhandled.count(), 0u);
  expect_not_capturing();
}

TEST_F(CaptureToBody, AManualBodyCaptureMayOutliveTheCaptureOfTheParentGraph) {
  const test::unhandled_errors unhandled;
  const detail::fault_table calls;
  EXPECT_THROW(
      static_cast<void>(capture(
          s,
          [&](capture_scope& scope) {
            const auto node = scope.graph().add(if_parameters{condition{scope.graph(), 1u}});
            begin_capture_to(t, node.body());
            throw std::runtime_error{"the body's"};
          })),
      std::runtime_error);
  EXPECT_EQ(calls.count(&detail::driver_table::cuGraphDestroy), 0)
      << "a capture into the body is open";
  static_cast<void>(end_capture_to(t));
  EXPECT_EQ(calls.count(&detail::driver_table::cuGraphDestroy), 1);
  EXPECT_EQ(unhandled.count(), 0u);
  expect_not_capturing();
}

TEST_F(CaptureToBody, AParentGraphWithoutAnOwnerIsDestroyedAfterTheLastBodyCapture) {
  const test::unhandled_errors unhandled;
  const detail::fault_table calls;
  graph g;
  const auto node = g.add(if_else_parameters{condition{g, 1u}});
  begin_capture_to(s, node.body(0));
  begin_capture_to(t, node.body(1));
  g = graph{};
  fill(s, x, 4);
  static_cast<void>(end_capture_to(s));
  EXPECT_EQ(calls.count(&detail::driver_table::cuGraphDestroy), 0)
      << "a capture into the other body is open";
  static_cast<void>(end_capture_to(t));
  EXPECT_EQ(calls.count(&detail::driver_table::cuGraphDestroy), 1);
  EXPECT_EQ(unhandled.count(), 0u);
  expect_not_capturing();
}

TEST_F(CaptureToBody, AnExceptionLeavesTheConditionalBodyUnchanged) {
  graph g;
  const auto node = g.add(while_parameters{condition{g, 0u}});
  EXPECT_THROW(capture_to(s, node.body(),
                          [&] {
                            fill(s, x, 2);
                            throw std::runtime_error{"the body's"};
                          }),
               std::runtime_error);
  EXPECT_EQ(node.body().node_count(), 0u);
  g.instantiate().launch(s);
  s.sync();
}

// An H200 destroys the body of a broken capture. Using or destroying the parent graph afterwards
// crashes it.
TEST_F(CaptureToBody, ABrokenBodyCaptureInvalidatesTheParentGraph) {
  const test::unhandled_errors unhandled;
  const detail::fault_table calls;
  for (const bool closes : {false, true}) {
    graph g;
    const auto node = g.add(if_parameters{condition{g, 1u}});
    const graph_ref body = node.body();
    const fill_node inside = body.add(fill_parameters{x, 1});
    const fill_node beside = g.add(fill_parameters{x, 2});
    g.tag(beside, "beside");
    graph_exec before = g.instantiate();
    graph other;  // created before: a new graph may get the handle of the destroyed body
    const auto failure = failure_of([&] {
      capture_to(s, body,
                 [&] { EXPECT_NE(detail::driver().cuStreamQuery(s.get()), abi::CUDA_SUCCESS); });
    });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::stream_capture_invalidated);
    const int asked = calls.count_all();
    const std::function<void()> uses[] = {
        [&] { static_cast<void>(node.body()); },
        [&] { static_cast<void>(node.dependencies()); },
        [&] { static_cast<void>(g.nodes()); },
        [&] { static_cast<void>(g.clone()); },
        [&] { static_cast<void>(g.instantiate()); },
        [&] { static_cast<void>(g.dot()); },
        [&] { g.remove(node); },
        [&] { other.add(child_graph_parameters{g}); },
        [&] { capture_to(s, g, [] {}); },
        [&] { static_cast<void>(body.node_count()); },
        [&] { static_cast<void>(inside.parameters()); },
        [&] { capture_to(s, body, [] {}); },
        [&] { static_cast<void>(graph_node{beside.get()}.kind()); },
        [&] { before.disable(before.find("beside")); },
        [&] {
          before.set(before.find("beside").as<fill_node>(), fill_parameters{x, 3});
        }};
    for (const auto& use : uses) {
      const auto refused = failure_of(use);
      ASSERT_TRUE(refused) << &use - uses;
      EXPECT_EQ(refused->result(), errc::illegal_state) << refused->what();
      EXPECT_TRUE(message_contains(*refused, "a body or child graph")) << refused->what();
    }
    if (closes) g.close();
    EXPECT_EQ(g.closed(), closes);
    EXPECT_EQ(calls.count_all() - asked, 0);
    before.launch(s);
    s.sync();  // the executable does not need its graph any more
  }
  EXPECT_EQ(calls.count(&detail::driver_table::cuGraphDestroy), 2)
      << "only `other`, once in each round";
  EXPECT_EQ(unhandled.count(), 0u);
  expect_not_capturing();
}

}  // namespace
}  // namespace weir
