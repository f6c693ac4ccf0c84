// SPDX-License-Identifier: Apache-2.0
// capture_forms_test.cpp - failed or missing driver calls in forks, captures into graphs, and
// frontier changes.
#include <weir/capture/capture_frontier.hpp>
#include <weir/capture/capture_participant.hpp>
#include <weir/capture/capture_to.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/nodes/fill_node.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/stream_fork.hpp>

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "faults/capture/capture_fixture.hpp"
#include "faults/every_call.hpp"
#include "faults/older_driver.hpp"
#include "support/foreign_capture.hpp"

namespace weir {
namespace {

using test::driver_table;
using test::every_call_may_fail;
using test::failure_of;
using test::fault_table;
using test::older_driver;
using test::result_of;
using test::unhandled_errors;

class CaptureFormsFaults : public test::capture_fixture {};

TEST_F(CaptureFormsFaults, AForkOutsideACaptureReportsEachFailedCall) {
  const stream_pool pool{gpu};
  every_call_may_fail([&] {
    stream_fork f{s, 3, pool};
    f.join();
  });
  every_call_may_fail([&] {
    stream_fork f{s, {t}};
    f.join();
  });
  EXPECT_EQ(pool.count().leased, 0u);
}

TEST_F(CaptureFormsFaults, AFailedForkDestroysTheStreamsItCreated) {
  for (int nth = 1; nth <= 3; ++nth) {
    fault_table faults;
    faults.fail(&driver_table::cuStreamCreateWithPriority, nth, abi::CUDA_ERROR_SYSTEM_NOT_READY);
    EXPECT_EQ(result_of([&] { stream_fork f(s, 4); }), errc::system_not_ready);
    EXPECT_EQ(faults.count(&driver_table::cuStreamDestroy_v2), nth - 1);
    EXPECT_EQ(faults.count(&driver_table::cuStreamWaitEvent), 0);
  }
}

// Rule 123: whichever call of a fork fails, the capture ends without an error, with all streams
// joined.
TEST_F(CaptureFormsFaults, ACaptureEndsWithAllStreamsJoinedIfAForkFails) {
  const stream u{gpu};
  // `fork_calls` is the number of calls before the join, which makes two more.
  const auto fork_with = [&](auto function, int fork_calls) {
    for (int nth = 1; nth <= fork_calls + 2; ++nth) {
      SCOPED_TRACE(nth);
      const unhandled_errors unhandled;
      fault_table faults;
      const graph g = capture(s, [&] {
        fill(s, x, 1);
        faults.fail(function, nth, abi::CUDA_ERROR_SYSTEM_NOT_READY);
        EXPECT_EQ(result_of([&] {
                    stream_fork f{s, {t.ref(), u.ref()}};
                    fill(t, x, 2);
                    fill(u, x, 3);
                    f.join();
                  }),
                  errc::system_not_ready);
      });
      EXPECT_EQ(g.node_count(), nth <= fork_calls ? 1u : 3u);
      EXPECT_EQ(unhandled.count(), 0u);
    }
  };
  // Each stream that joins also records an event behind its earlier work.
  fork_with(&driver_table::cuEventRecord, 4);
  fork_with(&driver_table::cuStreamWaitEvent, 2);
}

TEST_F(CaptureFormsFaults, AJoinThatFailsMidwayCanBeRepeated) {
  const unhandled_errors unhandled;
  const graph g = capture(s, [&] {
    const stream u{gpu};
    stream_fork f{s, {t.ref(), u.ref()}};
    fill(t, x, 2);
    fill(u, x, 3);
    fault_table faults;
    faults.fail(&driver_table::cuStreamWaitEvent, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
    EXPECT_EQ(result_of([&] { f.join(); }), errc::system_not_ready);
    EXPECT_EQ(f.size(), 2u) << "the other streams have been joined";
    EXPECT_EQ(f[1], t);
    f.join();
    EXPECT_TRUE(f.joined());
  });
  EXPECT_EQ(g.node_count(), 2u);
  EXPECT_EQ(unhandled.count(), 0u);
}

TEST_F(CaptureFormsFaults, AFailedCaptureToLeavesTheGraphUnchanged) {
  graph g;
  const graph_node a = g.add(fill_parameters{x, 1});
  const auto expect_unchanged = [&] {
    EXPECT_EQ(g.node_count(), 1u);
    EXPECT_EQ(capture_status_of(s), capture_status::none);
  };
  constexpr abi::CUresult code = abi::CUDA_ERROR_SYSTEM_NOT_READY;
  int failures = 0;
  for (const test::driver_function& function : test::driver_functions) {
    for (int nth = 1; nth < 100; ++nth) {
      SCOPED_TRACE(testing::Message() << function.symbol << ", call " << nth);
      const unhandled_errors unhandled;
      int calls = 0;
      const auto failure = failure_of([&] {
        fault_table faults;
        function.fail(faults, nth, code);
        try {
          capture_to(
              s, g, [&] { fill(s, x, 2); }, a);
        } catch (...) {
          calls = function.count(faults);
          throw;
        }
        calls = function.count(faults);
      });
      if (!failure) {
        ASSERT_LT(calls, nth) << "the call failed and nobody was told";
        g.remove(g.nodes().back());
        break;
      }
      ++failures;
      EXPECT_EQ(failure->result(), errc::system_not_ready);
      EXPECT_EQ(unhandled.count(), 0u);
      ASSERT_FALSE(g.closed());
      expect_unchanged();
    }
  }
  EXPECT_GT(failures, 5);
}

TEST_F(CaptureFormsFaults, AMovedGraphIsDestroyedOnceIfACaptureFails) {
  every_call_may_fail([&] {
    graph g;
    begin_capture_to(s, std::move(g));
    try {
      fill(s, x, 1);
      return end_capture(s);
    } catch (...) {
      if (capture_status_of(s) != capture_status::none) static_cast<void>(end_capture(s));
      throw;
    }
  });
}

// If a failed begin cannot be undone, weir assumes that the driver destroyed the graph and does not
// destroy it again.
TEST_F(CaptureFormsFaults, AFailedBeginThatCannotBeUndoneClosesTheGraph) {
  const auto attempt = [&](const auto& begin) {
    graph g;
    CUgraph_st* const handle = g.get();
    {
      fault_table faults;
      faults.fail(&driver_table::cuStreamGetCaptureInfo_v3, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
      faults.fail_from(&driver_table::cuStreamEndCapture, 1,
                       abi::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
      EXPECT_EQ(result_of([&] { begin(g); }), errc::system_not_ready);
    }
    EXPECT_TRUE(g.closed());
    abi::CUgraph still = nullptr;  // the driver has not seen the end, as the failure is simulated
    EXPECT_EQ(detail::driver().cuStreamEndCapture(s.get(), &still), abi::CUDA_SUCCESS);
    EXPECT_EQ(still, handle);
    if (g.closed()) {
      EXPECT_EQ(detail::driver().cuGraphDestroy(still), abi::CUDA_SUCCESS);
    }
  };
  attempt([&](graph& g) { begin_capture_to(s, std::move(g)); });
  attempt([&](graph& g) { capture_to(s, g, [] { FAIL(); }); });
}

// If the begin can be undone, the graph stays with its owner.
TEST_F(CaptureFormsFaults, AFailedBeginThatIsUndoneLeavesTheGraphWithItsOwner) {
  graph g;
  {
    fault_table faults;
    faults.fail(&driver_table::cuStreamGetCaptureInfo_v3, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
    EXPECT_EQ(result_of([&] { begin_capture_to(s, std::move(g)); }), errc::system_not_ready);
  }
  ASSERT_FALSE(g.closed());
  EXPECT_EQ(g.node_count(), 0u);
}

// A manual end always ends the capture, even if its first query fails.
TEST_F(CaptureFormsFaults, AManualEndEndsTheCaptureIfItsFirstQueryFails) {
  const auto fail_query = [&](const auto& end) {
    fault_table faults;
    faults.fail(&driver_table::cuStreamGetCaptureInfo_v3, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
    EXPECT_EQ(result_of(end), errc::system_not_ready);
  };
  begin_capture(s);
  fill(s, x, 1);
  // Ending another stream, or a capture of the other kind, leaves the capture of s open.
  fail_query([&] { static_cast<void>(end_capture(t)); });
  fail_query([&] { static_cast<void>(end_capture_to(s)); });
  EXPECT_EQ(capture_status_of(s), capture_status::active);
  fail_query([&] { static_cast<void>(end_capture(s)); });
  EXPECT_EQ(capture_status_of(s), capture_status::none);

  graph g;
  begin_capture_to(s, g.ref());
  fill(s, x, 1);
  fail_query([&] { static_cast<void>(end_capture_to(s)); });
  EXPECT_EQ(capture_status_of(s), capture_status::none);
  EXPECT_EQ(g.node_count(), 0u);
}

TEST_F(CaptureFormsFaults, TheGraphIsUnchangedIfItsJoinsCannotBeQueried) {
  graph g;
  const graph_node a = g.add(fill_parameters{x, 1});
  fault_table faults;
  faults.fail_from(&driver_table::cuGraphGetEdges_v2, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  EXPECT_EQ(result_of([&] {
              capture_to(
                  s, g, [&] { fork(); }, a);
            }),
            errc::system_not_ready);
  ASSERT_FALSE(g.closed());
  EXPECT_EQ(g.node_count(), 1u);
}

TEST_F(CaptureFormsFaults, UpdatingAFrontierReportsEachFailedCall) {
  begin_capture(s);
  fill(s, x, 1);
  const graph_node unknown{capture_info_of(s).frontier.at(0).node.get()};
  every_call_may_fail([&] { update_capture_dependencies(s, unknown); });
  every_call_may_fail([&] { update_capture_dependencies(s, {}, dependency_update::set); });
  EXPECT_EQ(end_capture(s).node_count(), 1u);
}

TEST_F(CaptureFormsFaults, ACaptureParticipantReportsEachFailedCall) {
  test::foreign_capture theirs{s};
  every_call_may_fail([&] { const capture_participant outer{s}; });
}

// Drivers before CUDA 12.3.
TEST_F(CaptureFormsFaults, OlderDriversSupportForksAndFrontiersWithoutEdgeData) {
  const older_driver older{12020};
  const graph g = capture(s, [&] {
    stream_fork f{s, 3};
    for (const stream_ref each : f) fill(each, x, 1);
    f.join();
    update_capture_dependencies(s, capture_info_of(s).frontier, dependency_update::set);
    fill(s, x, 2);
    std::vector<capture_dependency> with_data = capture_info_of(s).frontier;
    update_capture_dependencies(s, with_data);
    with_data.at(0).data.type = 1;
    EXPECT_EQ(result_of([&] { update_capture_dependencies(s, with_data); }),
              errc::call_requires_newer_driver);
  });
  EXPECT_EQ(g.node_count(), 4u);
  EXPECT_EQ(older.calls.count(&driver_table::cuStreamUpdateCaptureDependencies), 2);
}

TEST_F(CaptureFormsFaults, CaptureToIsRefusedByOlderDrivers) {
  const older_driver older{12020};
  graph g;
  const auto refused = failure_of([&] { capture_to(s, g, [] { FAIL(); }); });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->result(), errc::call_requires_newer_driver);
  EXPECT_STREQ(refused->call(), "cuStreamBeginCaptureToGraph");
  EXPECT_NE(std::string{refused->what()}.find("CUDA 12.3"), std::string::npos) << refused->what();
  EXPECT_FALSE(g.closed());
}

}  // namespace
}  // namespace weir
