// SPDX-License-Identifier: Apache-2.0
// capture_to_test.cpp - captures into existing graphs.
#include <weir/capture/capture_to.hpp>
#include <weir/core/deferred.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/graph/nodes/empty_node.hpp>
#include <weir/graph/nodes/fill_node.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "capture_fixture.hpp"
#include "driver/table.hpp"
#include "support/closure_probe.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::result_of;

class CaptureTo : public test::capture_fixture {
 protected:
  // Expects that the graph has its one node again and that no stream captures.
  void expect_unchanged() {
    EXPECT_EQ(g.node_count(), 1u);
    EXPECT_EQ(g.nodes().at(0), a);
    expect_not_capturing();
    capture_to(
        s, g, [&] { fill(s, x, 6); }, a);
    g.instantiate().launch(s);
    EXPECT_EQ(first_element(), 6);
  }
  void break_capture() { EXPECT_NE(detail::driver().cuStreamQuery(s.get()), abi::CUDA_SUCCESS); }

  graph g;
  graph_node a = g.add(fill_parameters{x, 1});
};

// Rule 110.
TEST_F(CaptureTo, CaptureToAddsWorkBehindTheGivenNodes) {
  const graph_node b = g.add(empty_parameters{});
  CUgraph_st* const handle = g.get();
  capture_to(s, g,
             [&](capture_scope& scope) {
               EXPECT_EQ(scope.graph(), g);
               EXPECT_EQ(capture_info_of(s).frontier.size(), 2u);
               copy(scope, x, host);
             },
             {a, b});
  EXPECT_EQ(g.get(), handle);
  ASSERT_EQ(g.node_count(), 3u);
  EXPECT_EQ(g.nodes().back().dependencies().size(), 2u);
  g.instantiate().launch(s);
  s.sync();
  EXPECT_EQ(host[0], 1);
}

TEST_F(CaptureTo, CaptureToWithoutNodesAddsARootAndCanBeRepeated) {
  capture_to(s, g, [&] { fill(s, y, 2); });
  capture_to(
      s, g, [&] { fill(s, y, 3); }, std::vector{a});
  EXPECT_EQ(g.node_count(), 3u);
  EXPECT_EQ(g.roots().size(), 2u);
  EXPECT_EQ(g.edges().size(), 1u);
}

// Nodes that are added by hand during and after the capture are part of the next executable.
TEST_F(CaptureTo, NodesCanBeAddedManuallyDuringAndAfterTheCapture) {
  capture_to(
      s, g,
      [&](capture_scope& scope) {
        fill(scope, x, 2);
        scope.graph().add(empty_parameters{});
        EXPECT_EQ(result_of([&] { static_cast<void>(g.instantiate()); }), errc::illegal_state);
      },
      a);
  EXPECT_EQ(g.node_count(), 3u);
  const graph_node last = g.nodes().back();
  g.add(fill_parameters{x, 7}, g.nodes());
  EXPECT_TRUE(last);
  g.instantiate().launch(s);
  EXPECT_EQ(first_element(), 7);
}

TEST_F(CaptureTo, EndCaptureReturnsAGraphThatWasMovedIntoBeginCaptureTo) {
  CUgraph_st* const handle = g.get();
  begin_capture_to(s, std::move(g), a);
  EXPECT_TRUE(g.closed());
  fill(s, x, 2);
  EXPECT_EQ(result_of([&] { static_cast<void>(end_capture_to(s)); }), errc::illegal_state);
  g = end_capture(s);
  EXPECT_EQ(g.get(), handle);
  EXPECT_EQ(g.edges().size(), 1u);
}

TEST_F(CaptureTo, AGraphPassedByReferenceStaysWithItsOwner) {
  begin_capture_to(s, g.ref(), a);
  fill(s, x, 2);
  const auto refused = failure_of([&] { static_cast<void>(end_capture(s)); });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->result(), errc::illegal_state);
  EXPECT_TRUE(message_contains(*refused, "end_capture_to()")) << refused->what();
  EXPECT_EQ(end_capture_to(s), g);
  EXPECT_EQ(g.node_count(), 2u);
}

TEST_F(CaptureTo, ACaptureThatCannotBeginLeavesTheGraphWithItsOwner) {
  begin_capture(s);
  EXPECT_EQ(result_of([&] { begin_capture_to(s, std::move(g), a); }), errc::illegal_state);
  EXPECT_FALSE(g.closed());
  EXPECT_EQ(capture_status_of(s), capture_status::active);
  static_cast<void>(end_capture(s));
  expect_unchanged();
}

// Rule 109: each invalid argument is refused by name, before a capture begins.
TEST_F(CaptureTo, InvalidArgumentsOfCaptureToAreRefusedByName) {
  for_each_foreign_node([&](graph_node node, const char* named) {
    const auto refused = failure_of([&] { capture_to(s, g, [] { FAIL(); }, {a, node}); });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->result(), errc::invalid_value);
    EXPECT_TRUE(message_contains(*refused, named)) << refused->what();
  });
  graph closed;
  closed.close();
  EXPECT_EQ(result_of([&] { capture_to(s, closed, [] { FAIL(); }); }), errc::closed);
  EXPECT_EQ(result_of([&] { capture_to(s, graph_ref{nullptr}, [] { FAIL(); }); }),
            errc::invalid_handle);
  EXPECT_EQ(result_of([&] { capture_to(stream_ref::legacy(), g, [] { FAIL(); }); }),
            errc::stream_capture_unsupported);
  EXPECT_EQ(result_of([&] {
              capture_to(s, g, [] { FAIL(); }, a, {.mode = static_cast<capture_mode>(9)});
            }),
            errc::invalid_value);
  expect_unchanged();
}

TEST_F(CaptureTo, ASecondCaptureIntoTheSameGraphIsRefused) {
  capture_to(s, g, [&] {
    fill(s, x, 2);
    const auto refused = failure_of([&] { capture_to(t, g, [] { FAIL(); }); });
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->result(), errc::illegal_state);
    EXPECT_EQ(capture_status_of(t), capture_status::none);
  });
  EXPECT_EQ(g.node_count(), 2u);
}

TEST_F(CaptureTo, AGraphCannotBeClosedWhileItIsCapturedInto) {
  capture_to(
      s, g,
      [&] {
        const auto refused = failure_of([&] { g.close(); });
        ASSERT_TRUE(refused);
        EXPECT_EQ(refused->result(), errc::illegal_state);
        EXPECT_TRUE(message_contains(*refused, "end that capture first")) << refused->what();
      },
      a);
  ASSERT_FALSE(g.closed());
  expect_unchanged();
  g.close();
}

TEST_F(CaptureTo, AGraphWithoutAnOwnerIsDestroyedAtTheEndOfTheCapture) {
  enum class way : unsigned char { in_the_body, by_hand, thrown };
  for (const way how : {way::in_the_body, way::by_hand, way::thrown}) {
    const test::unhandled_errors unhandled;
    const detail::fault_table calls;
    test::closure_stats f;
    auto own = std::make_unique<graph>();
    own->keep(test::closure_probe{f});
    const auto end_owner = [&] {
      fill(s, x, 2);
      own.reset();
      EXPECT_EQ(calls.count(&detail::driver_table::cuGraphDestroy), 0);
      if (how == way::thrown) throw std::runtime_error{"the body's"};
    };
    if (how == way::by_hand) {
      begin_capture_to(s, own->ref());
      end_owner();
      static_cast<void>(end_capture_to(s));
    } else if (how == way::in_the_body) {
      capture_to(s, *own, end_owner);
    } else {
      EXPECT_THROW(capture_to(s, *own, end_owner), std::runtime_error);
    }
    EXPECT_EQ(calls.count(&detail::driver_table::cuGraphDestroy), 1);
    EXPECT_TRUE(test::is_destroyed_once(f));
    EXPECT_EQ(unhandled.count(), 0u);
    expect_not_capturing();
  }
}

TEST_F(CaptureTo, AGraphWithoutAnOwnerIsNotDestroyedTwiceWhenTheCaptureBreaks) {
  const test::unhandled_errors unhandled;
  const detail::fault_table calls;
  auto own = std::make_unique<graph>();
  EXPECT_EQ(result_of([&] {
              capture_to(s, *own, [&] {
                own.reset();
                break_capture();
              });
            }),
            errc::stream_capture_invalidated);
  EXPECT_EQ(calls.count(&detail::driver_table::cuGraphDestroy), 0);
  EXPECT_EQ(unhandled.count(), 0u);
  expect_not_capturing();
}

// Rule 111.
TEST_F(CaptureTo, AnExceptionFromTheBodyIsRethrownAndTheGraphIsUnchanged) {
  const test::unhandled_errors unhandled;
  EXPECT_THROW(capture_to(
                   s, g,
                   [&] {
                     fill(s, x, 2);
                     fork();
                     throw std::runtime_error{"the body's"};
                   },
                   a),
               std::runtime_error);
  EXPECT_EQ(unhandled.count(), 0u);
  expect_unchanged();
}

TEST_F(CaptureTo, AnUnjoinedForkIsReportedAndTheGraphIsUnchanged) {
  const auto failure = failure_of([&] {
    capture_to(
        s, g, [&] { fork(); }, a);
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::stream_capture_unjoined);
  expect_unchanged();
}

TEST_F(CaptureTo, TheJoinForksOptionJoinsForkedStreams) {
  capture_to(s, g, [&] { fork(); }, a, {.join_forks = true});
  EXPECT_EQ(g.node_count(), 2u);
  expect_not_capturing();
}

// The driver destroys the graph of a broken capture, so weir must not destroy it again.
TEST_F(CaptureTo, ABrokenCaptureClosesTheGraph) {
  const test::unhandled_errors unhandled;
  test::closure_stats f;
  g.keep(test::closure_probe{f});
  const auto failure = failure_of([&] {
    capture_to(
        s, g, [&] { break_capture(); }, a);
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::stream_capture_invalidated);
  EXPECT_TRUE(message_contains(*failure, "destroyed the graph")) << failure->what();
  EXPECT_TRUE(g.closed());
  drain_deferred();
  EXPECT_TRUE(test::is_destroyed_once(f));
  EXPECT_EQ(unhandled.count(), 0u);
  expect_not_capturing();
}

// weir cannot find the graph's owner after the graph was moved.
TEST_F(CaptureTo, AGraphMovedAwayByTheBodyIsNotClosedWhenTheCaptureBreaks) {
  const test::unhandled_errors unhandled;
  const detail::fault_table calls;
  std::optional<graph> elsewhere;
  EXPECT_EQ(result_of([&] {
              capture_to(s, g, [&] {
                elsewhere.emplace(std::move(g));
                g = graph{};
                break_capture();
              });
            }),
            errc::stream_capture_invalidated);
  EXPECT_FALSE(g.closed()) << "g is another graph now";
  ASSERT_TRUE(elsewhere);
  EXPECT_FALSE(elsewhere->closed());
  static_cast<void>(elsewhere->release());
  elsewhere.reset();
  EXPECT_EQ(calls.count(&detail::driver_table::cuGraphDestroy), 0);
  EXPECT_EQ(unhandled.count(), 0u);
  expect_not_capturing();
}

TEST_F(CaptureTo, ABrokenCaptureWhoseBodyThrowsClosesTheGraph) {
  const test::unhandled_errors unhandled;
  EXPECT_THROW(capture_to(s, g,
                          [&] {
                            break_capture();
                            throw std::runtime_error{"the body's"};
                          }),
               std::runtime_error);
  EXPECT_TRUE(g.closed());
  EXPECT_EQ(unhandled.count(), 0u);
  expect_not_capturing();
}

// weir cannot tell whether the graph still exists, so the graph keeps the nodes that the driver
// left in it.
TEST_F(CaptureTo, ACaptureEndedDirectlyThroughTheDriverLeavesItsNodesInTheGraph) {
  const test::unhandled_errors unhandled;
  const auto end_past_weir = [&] {
    fill(s, x, 2);
    abi::CUgraph ended = nullptr;
    EXPECT_EQ(detail::driver().cuStreamEndCapture(s.get(), &ended), abi::CUDA_SUCCESS);
    EXPECT_EQ(ended, g.get());
  };
  const auto failure = failure_of([&] { capture_to(s, g, end_past_weir, a); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::illegal_state);
  EXPECT_TRUE(message_contains(*failure, "its graph may be incomplete or destroyed"))
      << failure->what();
  ASSERT_FALSE(g.closed());
  EXPECT_EQ(g.node_count(), 2u);
  EXPECT_THROW(capture_to(s, g,
                          [&] {
                            end_past_weir();
                            throw std::runtime_error{"the body's"};
                          }),
               std::runtime_error);
  ASSERT_FALSE(g.closed()) << "the body's exception changes nothing";
  EXPECT_EQ(g.node_count(), 3u);
  EXPECT_EQ(unhandled.count(), 0u);
  expect_not_capturing();
}

// A capture that other code began on the stream is not ended instead.
TEST_F(CaptureTo, AnotherCaptureBegunOnTheStreamIsNotEnded) {
  const auto begin_another = [&] {
    abi::CUgraph ended = nullptr;
    EXPECT_EQ(detail::driver().cuStreamEndCapture(s.get(), &ended), abi::CUDA_SUCCESS);
    EXPECT_EQ(
        detail::driver().cuStreamBeginCapture_v2(s.get(), abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
        abi::CUDA_SUCCESS);
    fill(s, x, 2);
  };
  const auto end_it = [&] {
    ASSERT_EQ(capture_status_of(s), capture_status::active);
    EXPECT_EQ(end_capture(s).node_count(), 1u);
    EXPECT_EQ(g.node_count(), 1u);
  };
  EXPECT_EQ(result_of([&] { capture_to(s, g, begin_another); }), errc::illegal_state);
  end_it();
  EXPECT_THROW(capture_to(s, g,
                          [&] {
                            begin_another();
                            throw std::runtime_error{"the body's"};
                          }),
               std::runtime_error);
  end_it();
  expect_unchanged();
}

}  // namespace
}  // namespace weir
