// capture_test.cpp - captures: what they record, how they end, what they live through.
#include <weir/buffer.hpp>
#include <weir/capture.hpp>
#include <weir/context.hpp>
#include <weir/copy.hpp>
#include <weir/deferred.hpp>
#include <weir/fill.hpp>
#include <weir/graph_exec.hpp>
#include <weir/host_function.hpp>
#include <weir/managed_buffer.hpp>
#include <weir/name.hpp>
#include <weir/pinned_buffer.hpp>
#include <weir/to_string.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "api/captures.hpp"
#include "driver/table.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"
#include "support/unraised.hpp"
#include "support/witness.hpp"

namespace weir {
namespace {

using detail::driver;
using test::failure_of;
using test::result_of;
using namespace std::chrono_literals;

class Capture : public ::testing::Test {
 protected:
  [[nodiscard]] int first() {
    copy(s, x, host);
    s.sync();
    return host[0];
  }
  // Nobody captures, and the streams take work.
  void expect_ordinary() {
    EXPECT_EQ(capture_status_of(s), capture_status::none);
    EXPECT_EQ(capture_status_of(t), capture_status::none);
    fill(s, x, 77);
    EXPECT_EQ(first(), 77);
    t.sync();
  }
  // t joins the capture of s and has work of its own.
  void fork() {
    t.wait(s);
    fill(t, y, 5);
  }
  [[nodiscard]] static bool says(const error& e, const std::string& what) {
    return std::string{e.what()}.find(what) != std::string::npos;
  }

  device gpu;
  stream s{gpu};
  stream t{gpu};
  buffer<int> x{s, 100};
  buffer<int> y{s, 100};
  pinned_buffer<int> host{100};
};

// Rule 172.
TEST_F(Capture, RecordsAndDoesNotRun) {
  fill(s, x, 1);
  const graph g = capture(s, [&] { fill(s, x, 2); });
  EXPECT_EQ(first(), 1);
  g.instantiate().launch(s);
  EXPECT_EQ(first(), 2);
}

TEST_F(Capture, TheBodyIsGivenTheStreamAndTheGraph) {
  const graph g = capture(s, [&](capture_scope& scope) {
    EXPECT_EQ(scope.stream(), s);
    EXPECT_EQ(scope.graph().node_count(), 0u);
    fill(scope, x, 2);
    EXPECT_EQ(scope.graph().node_count(), 1u);
  });
  EXPECT_EQ(g.node_count(), 1u);
}

// Rule 111.
TEST_F(Capture, TheBodysErrorWinsAndNothingIsLeft) {
  test::fate f;
  const test::unraised_errors unraised;
  EXPECT_THROW(static_cast<void>(capture(s,
                                         [&](capture_scope& scope) {
                                           scope.keep(test::witness{f});
                                           fork();
                                           throw std::runtime_error{"the body's"};
                                         })),
               std::runtime_error);
  EXPECT_TRUE(test::is_destroyed_once(f));
  EXPECT_EQ(unraised.count(), 0u);
  expect_ordinary();
}

TEST_F(Capture, ABodyThatBreaksTheCaptureAndThrowsIsHeardItself) {
  const event outside = t.record();
  const auto failure = failure_of([&] { static_cast<void>(capture(s, [&] { s.wait(outside); })); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::stream_capture_isolation);
  EXPECT_STREQ(failure->call(), "cuStreamWaitEvent");
  expect_ordinary();
}

// Rules 91 and 92.
TEST_F(Capture, OfTheDefaultStreamsOnlyThePerThreadOne) {
  const context_scope current{gpu};
  const auto refused = failure_of([&] { begin_capture(stream_ref::legacy()); });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->result(), errc::stream_capture_unsupported);
  EXPECT_TRUE(says(*refused, "cannot be captured")) << refused->what();
  const graph g = capture(stream_ref::per_thread(), [&] { fill(stream_ref::per_thread(), x, 3); });
  EXPECT_EQ(g.node_count(), 1u);
}

TEST_F(Capture, AModeThatIsNoneIsRefused) {
  constexpr auto none = static_cast<capture_mode>(3);
  EXPECT_EQ(result_of([&] { begin_capture(s, {.mode = none}); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { const thread_capture_mode mode{none}; }), errc::invalid_value);
  expect_ordinary();
}

// Rule 93.
TEST_F(Capture, BeginningTwiceIsRefusedAndTheFirstLivesOn) {
  begin_capture(s);
  const unsigned line = __LINE__ - 1;
  fork();
  const auto again = failure_of([&] { begin_capture(s); });
  ASSERT_TRUE(again);
  EXPECT_EQ(again->result(), errc::illegal_state);
  EXPECT_TRUE(says(*again, "capture_test.cpp:" + std::to_string(line))) << again->what();
  EXPECT_EQ(result_of([&] { static_cast<void>(capture(t, [] {})); }), errc::illegal_state) << "t has joined";
  s.wait(t);
  EXPECT_EQ(end_capture(s).node_count(), 1u);
  expect_ordinary();
}

// Rule 94.
TEST_F(Capture, AnEndElsewhereIsRefusedAndTheCaptureLivesOn) {
  begin_capture(s);
  fork();
  EXPECT_EQ(result_of([&] { static_cast<void>(end_capture(t)); }), errc::stream_capture_unmatched);
  const stream idle{gpu};
  EXPECT_EQ(result_of([&] { static_cast<void>(end_capture(idle)); }), errc::illegal_state);
  s.wait(t);
  EXPECT_EQ(end_capture(s).node_count(), 1u);
  EXPECT_EQ(result_of([&] { static_cast<void>(end_capture(s)); }), errc::illegal_state) << "it has ended";
}

// Rule 95.
TEST_F(Capture, AnotherThreadMayEndARelaxedOneOnly) {
  for (const auto mode : {capture_mode::global, capture_mode::own_thread, capture_mode::relaxed}) {
    begin_capture(s, {.mode = mode});
    errc answer = errc::success;
    std::thread{[&] { answer = result_of([&] { static_cast<void>(end_capture(s)); }); }}.join();
    if (mode == capture_mode::relaxed) {
      EXPECT_EQ(answer, errc::success);
    } else {
      EXPECT_EQ(answer, errc::stream_capture_wrong_thread);
      EXPECT_EQ(capture_status_of(s), capture_status::active);
      static_cast<void>(end_capture(s));
    }
  }
}

TEST_F(Capture, AScopeIsEndedByItselfOnly) {
  const graph g = capture(s, [&] {
    fill(s, x, 1);
    EXPECT_EQ(result_of([&] { static_cast<void>(end_capture(s)); }), errc::illegal_state);
  });
  EXPECT_EQ(g.node_count(), 1u);
}

TEST_F(Capture, AScopeThatWasEndedPastWeirSaysSo) {
  const auto failure = failure_of([&] {
    static_cast<void>(capture(s, [&] {
      abi::CUgraph stolen = nullptr;
      ASSERT_EQ(driver().cuStreamEndCapture(s.get(), &stolen), abi::CUDA_SUCCESS);
      ASSERT_EQ(driver().cuGraphDestroy(stolen), abi::CUDA_SUCCESS);
    }));
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::illegal_state);
  expect_ordinary();
}

// Rules 98 and 103.
TEST_F(Capture, LooksAtItAreRefusedAndItLivesOn) {
  for (const auto mode : {capture_mode::global, capture_mode::own_thread, capture_mode::relaxed}) {
    const graph g = capture(
        s,
        [&] {
          fork();
          for (const stream_ref captured : {s.ref(), t.ref()}) {
            EXPECT_EQ(result_of([&] { captured.sync(); }), errc::stream_capture_unsupported);
            EXPECT_EQ(result_of([&] { static_cast<void>(captured.done()); }), errc::stream_capture_unsupported);
            EXPECT_EQ(captured.try_done(), errc::stream_capture_unsupported);
            EXPECT_EQ(result_of([&] { static_cast<void>(captured.sync_for(1ms)); }), errc::stream_capture_unsupported);
          }
          const event mark = s.record();
          EXPECT_EQ(result_of([&] { mark.sync(); }), errc::captured_event);
          EXPECT_EQ(result_of([&] { static_cast<void>(mark.done()); }), errc::captured_event);
          EXPECT_EQ(mark.try_done(), errc::captured_event);
          EXPECT_EQ(result_of([&] { static_cast<void>(mark.sync_for(1ms)); }), errc::captured_event);
          EXPECT_EQ(result_of([&] { gpu.sync(); }), errc::stream_capture_unsupported);
          EXPECT_EQ(result_of([&] { launch_host_once(s, [] {}); }), errc::stream_capture_unsupported);
          s.wait(t);
        },
        {.mode = mode});
    EXPECT_EQ(g.node_count(), 1u);
  }
  expect_ordinary();
}

// Rule 99: of other streams and events everything may be asked, in every mode, and from every thread.
TEST_F(Capture, LooksBesideItAreAllowed) {
  const event before = t.record();
  for (const auto mode : {capture_mode::global, capture_mode::own_thread, capture_mode::relaxed}) {
    const graph g = capture(s,
                            [&] {
                              fill(s, x, 1);
                              const auto look = [&] {
                                fill(t, y, 2);
                                t.record(before);
                                t.sync();
                                EXPECT_TRUE(t.done());
                                EXPECT_EQ(t.try_done(), errc::success);
                                EXPECT_TRUE(t.sync_for(60s));
                                before.sync();
                                EXPECT_TRUE(before.done());
                                EXPECT_EQ(before.try_done(), errc::success);
                              };
                              look();
                              std::thread{look}.join();
                            },
                            {.mode = mode});
    EXPECT_EQ(g.node_count(), 1u);
  }
}

// An event is part of a capture for as long as its last record is.
TEST_F(Capture, AnEventRecordedAgainOutsideCanBeAskedForMeanwhile) {
  const event mark{gpu};
  const graph g = capture(s, [&] {
    s.record(mark);
    EXPECT_EQ(mark.try_done(), errc::captured_event);
    t.record(mark);
    mark.sync();
    EXPECT_TRUE(mark.done());
  });
  EXPECT_EQ(g.node_count(), 0u);
}

// Another event may get the handle of one that is gone.
TEST_F(Capture, AnEventThatIsGoneIsForgotten) {
  const graph g = capture(s, [&] {
    CUevent_st* handle = nullptr;
    {
      const event mark = s.record();
      handle = mark.get();
      EXPECT_TRUE(detail::is_captured_event(handle));
    }
    EXPECT_FALSE(detail::is_captured_event(handle));
  });
  EXPECT_EQ(g.node_count(), 0u);
}

// Rules 100 and 101.
TEST_F(Capture, TheLegacyStreamWaitsForABlockingStreamsCapture) {
  const context_scope current{gpu};
  const stream blocking{gpu, {.kind = stream_kind::blocking}};
  const graph g = capture(blocking, [&] {
    fill(blocking, x, 1);
    EXPECT_EQ(result_of([&] { static_cast<void>(capture_status_of(stream_ref::legacy())); }),
              errc::stream_capture_implicit);
    EXPECT_EQ(stream_ref::legacy().try_done(), errc::stream_capture_implicit);
    EXPECT_EQ(result_of([&] { stream_ref::legacy().sync(); }), errc::stream_capture_implicit);
  });
  EXPECT_EQ(g.node_count(), 1u);
  stream_ref::legacy().sync();
}

// Rule 102.
TEST_F(Capture, TwoThreadsCaptureTwoGraphs) {
  const auto record = [&](stream_ref in, buffer<int>& into, int nodes) {
    return capture(in, [&] {
      for (int i = 0; i < nodes; ++i) fill(in, into, i);
    });
  };
  std::optional<graph> other;
  std::thread beside{[&] { other.emplace(record(t, y, 20)); }};
  const graph mine = record(s, x, 30);
  beside.join();
  EXPECT_EQ(mine.node_count(), 30u);
  EXPECT_EQ(other->node_count(), 20u);
}

// The same often, with forks, marks, looks and destructions beside each other: nobody disturbs anybody.
TEST_F(Capture, ManyThreadsCaptureManyGraphs) {
  constexpr int threads = 4;
  constexpr int captures = 50;
  std::atomic<int> whole{0};
  const auto work = [&](int seed) {
    const stream mine{gpu};
    const stream helper{gpu};
    const stream beside{gpu};
    const auto mode = seed % 2 == 0 ? capture_mode::own_thread : capture_mode::relaxed;
    for (int i = 0; i < captures; ++i) {
      buffer<int> memory{mine, 16};
      graph g = capture(mine,
                        [&](capture_scope& scope) {
                          fill(mine, memory, i);
                          const event mark = mine.record();
                          helper.wait(mark);
                          launch_host(helper, [] {});
                          EXPECT_EQ(mark.try_done(), errc::captured_event);
                          beside.sync();
                          const buffer<int> goes{beside, 16};
                          mine.wait(helper);
                          scope.keep(std::move(memory));
                        },
                        {.mode = mode});
      graph_exec exec = g.instantiate();
      exec.launch(beside);
      if (g.node_count() == 2u) ++whole;
    }
    beside.sync();
  };
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back(work, i);
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(whole, threads * captures);
  drain_deferred();
  EXPECT_EQ(capture_status_of(s), capture_status::none);
  EXPECT_EQ(detail::open_captures, 0);
}

// Rules 96 and 97.
TEST_F(Capture, StreamsThatWereNotJoinedAreNamed) {
  set_name(t, "fork");
  const stream joined{gpu};
  const auto failure = failure_of([&] {
    static_cast<void>(capture(s, [&] {
      fork();
      joined.wait(s);
      fill(joined, x, 1);
      s.wait(joined);
      fill(s, x, 2);  // what was joined is behind the end, but not directly
    }));
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::stream_capture_unjoined);
  EXPECT_TRUE(says(*failure, "\"fork\"")) << failure->what();
  EXPECT_FALSE(says(*failure, to_string(joined))) << failure->what();
  expect_ordinary();
}

TEST_F(Capture, AStreamThatIsJoinedThroughAnotherIsJoined) {
  const stream u{gpu};
  const graph g = capture(s, [&] {
    fork();
    u.wait(t);
    fill(u, y, 6);
    s.wait(u);
  });
  EXPECT_EQ(g.node_count(), 2u);
  EXPECT_EQ(g.edges().size(), 1u);
}

TEST_F(Capture, ForksAreJoinedOnRequest) {
  fill(s, y, 0);
  s.sync();
  const graph g = capture(s,
                          [&] {
                            fill(s, x, 1);
                            fork();
                          },
                          {.join_forks = true});
  EXPECT_EQ(g.node_count(), 2u);
  g.instantiate().launch(s);
  copy(s, y, host);
  s.sync();
  EXPECT_EQ(host[0], 5);
}

// H27: the first call that broke it, with its line.
TEST_F(Capture, ABrokenCaptureNamesTheFirstCallThatBrokeIt) {
  const event outside = t.record();
  begin_capture(s, {.mode = capture_mode::relaxed});
  EXPECT_EQ(result_of([&] { s.wait(outside); }), errc::stream_capture_isolation);
  const unsigned line = __LINE__ - 1;
  EXPECT_EQ(capture_status_of(s), capture_status::invalidated);
  EXPECT_EQ(result_of([&] { fill(s, x, 1); }), errc::stream_capture_invalidated)
      << "a later one, which is not to blame";
  EXPECT_EQ(s.try_done(), errc::stream_capture_invalidated);
  const auto failure = failure_of([&] { static_cast<void>(end_capture(s)); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::stream_capture_invalidated);
  EXPECT_TRUE(says(*failure, "cuStreamWaitEvent at")) << failure->what();
  EXPECT_TRUE(says(*failure, "capture_test.cpp:" + std::to_string(line))) << failure->what();
  EXPECT_TRUE(says(*failure, "relaxed")) << failure->what();
  EXPECT_FALSE(says(*failure, "cuMemset")) << failure->what();
  expect_ordinary();
}

TEST_F(Capture, ACallPastWeirThatBreaksItIsCalledThat) {
  const auto failure = failure_of([&] {
    static_cast<void>(capture(s, [&] { EXPECT_NE(driver().cuStreamSynchronize(s.get()), abi::CUDA_SUCCESS); }));
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::stream_capture_invalidated);
  EXPECT_TRUE(says(*failure, "past weir")) << failure->what();
  expect_ordinary();
}

// Rules 104 and 106.
TEST_F(Capture, InfoTellsTheCaptureAndItsFrontier) {
  EXPECT_EQ(capture_info_of(s).status, capture_status::none);
  unsigned long long id = 0;
  const graph g = capture(s, [&](capture_scope& scope) {
    const capture_info empty = capture_info_of(s);
    EXPECT_EQ(empty.status, capture_status::active);
    EXPECT_EQ(empty.graph, scope.graph());
    EXPECT_TRUE(empty.frontier.empty());
    id = empty.id;
    fill(s, x, 1);
    t.wait(s);
    const capture_info forked = capture_info_of(t);
    EXPECT_EQ(forked.id, id);
    EXPECT_EQ(forked.graph, scope.graph());
    ASSERT_EQ(forked.frontier.size(), 1u);
    EXPECT_EQ(forked.frontier[0].node, scope.graph().nodes().at(0));
    EXPECT_EQ(forked.frontier[0].data, edge_data{});
  });
  begin_capture(s);
  EXPECT_NE(capture_info_of(s).id, id);
  static_cast<void>(end_capture(s));
}

// Rule 105.
TEST_F(Capture, TheThreadsModeIsRestored) {
  const auto mode_now = [] {
    const thread_capture_mode look{capture_mode::relaxed};
    return look.before();
  };
  const capture_mode before = mode_now();
  try {
    const thread_capture_mode outer{capture_mode::relaxed};
    EXPECT_EQ(outer.before(), before);
    const thread_capture_mode inner{capture_mode::own_thread};
    EXPECT_EQ(inner.before(), capture_mode::relaxed);
    EXPECT_EQ(mode_now(), capture_mode::own_thread);
    throw std::runtime_error{"out"};
  } catch (const std::runtime_error&) {
    EXPECT_EQ(mode_now(), before);
  }
}

// Rule 113: whatever becomes of the owner, the scope ends on the stream that it began on.
TEST_F(Capture, TheOwnerOfTheStreamMayGoInside) {
  auto owner = std::make_unique<stream>(gpu);
  const graph g = capture(*owner, [&](capture_scope& scope) {
    fill(scope, x, 1);
    owner.reset();
  });
  EXPECT_EQ(g.node_count(), 1u);
}

// Rules 115 and 116.
TEST_F(Capture, DestroyingThingsBreaksNoCaptureAndIsDoneAfterIt) {
  for (const bool fails : {false, true}) {
    auto other_exec = std::make_unique<graph_exec>(capture(s, [&] { fill(s, x, 1); }).instantiate());
    auto other_graph = std::make_unique<graph>();
    auto other_stream = std::make_unique<stream>(gpu);
    auto other_event = std::make_unique<event>(gpu);
    auto other_buffer = std::make_unique<buffer<int>>(t, 10);
    auto other_pinned = std::make_unique<pinned_buffer<int>>(10);
    begin_capture(s, {.mode = capture_mode::global});
    fill(s, x, 1);
    if (fails) fork();
    std::thread{[&] {
      other_exec.reset();
      other_graph.reset();
    }}.join();
    other_stream.reset();
    other_event.reset();
    other_buffer.reset();
    other_pinned.reset();
    drain_deferred();
    EXPECT_EQ(capture_status_of(s), capture_status::active);
    EXPECT_GT(deferred_count(), 0u) << "frees wait for the capture";
    EXPECT_EQ(result_of([&] { static_cast<void>(end_capture(s)); }),
              fails ? errc::stream_capture_unjoined : errc::success);
    drain_deferred();
    EXPECT_EQ(deferred_count(), 0u);
  }
}

// Rule 127.
TEST_F(Capture, TheGraphInTheMakingIsNotYetToBeRun) {
  graph_exec exec = capture(s, [&] { fill(s, x, 1); }).instantiate();
  const graph g = capture(s, [&](capture_scope& scope) {
    fill(s, x, 1);
    EXPECT_EQ(result_of([&] { static_cast<void>(scope.graph().instantiate()); }), errc::illegal_state);
    EXPECT_EQ(result_of([&] { static_cast<void>(exec.update(scope.graph())); }), errc::illegal_state);
  });
  EXPECT_TRUE(exec.update(g));
}

TEST_F(Capture, OtherGraphsAreMadeAndLaunchedMeanwhileButNotInIt) {
  fill(t, y, 0);
  const graph other = capture(t, [&] { fill(t, y, 9); });
  const graph g = capture(s,
                          [&] {
                            fill(s, x, 1);
                            const graph_exec exec = other.instantiate();
                            EXPECT_EQ(result_of([&] { exec.launch(s); }), errc::stream_capture_unsupported);
                            EXPECT_EQ(result_of([&] { exec.upload(s); }), errc::stream_capture_unsupported);
                            exec.launch(t);
                            t.sync();
                          },
                          {.mode = capture_mode::global});
  EXPECT_EQ(g.node_count(), 1u);
  copy(t, y, host);
  t.sync();
  EXPECT_EQ(host[0], 9);
}

// Rule 170: what is made meanwhile harms none.
TEST_F(Capture, MemoryOfTheHostIsMadeMeanwhile) {
  for (const auto mode : {capture_mode::global, capture_mode::own_thread}) {
    const graph g = capture(s,
                            [&] {
                              fill(s, x, 1);
                              const pinned_buffer<int> pinned{10};
                              const managed_buffer<int> managed{10};
                              const buffer<int> beside{t, 10};
                              std::thread{[] { const pinned_buffer<int> from_another{10}; }}.join();
                            },
                            {.mode = mode});
    EXPECT_EQ(g.node_count(), 1u);
  }
}

TEST_F(Capture, OneThatWasBegunPastWeirMayBeEnded) {
  ASSERT_EQ(driver().cuStreamBeginCapture_v2(s.get(), abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), abi::CUDA_SUCCESS);
  EXPECT_EQ(result_of([&] { begin_capture(s); }), errc::illegal_state);
  fill(s, x, 1);
  EXPECT_EQ(end_capture(s).node_count(), 1u);
}

// Rule 119.
TEST_F(Capture, WhatTheScopeKeepsLivesAsLongAsItIsUsed) {
  const test::unraised_errors unraised;
  test::fate f;
  std::optional<buffer<int>> kept{std::in_place, s, 100};
  std::optional<graph> g{capture(s, [&](capture_scope& scope) {
    fill(s, *kept, 8);
    copy(s, *kept, host);
    scope.keep(std::move(*kept));
    scope.keep(test::witness{f});
  })};
  kept.reset();
  test::gate held{t};
  {
    const graph_exec exec = g->instantiate();
    exec.launch(t);
  }
  g.reset();
  drain_deferred();
  EXPECT_EQ(f.destructions, 0) << "a launch needs it";
  held.open();
  t.sync();
  EXPECT_EQ(host[0], 8);
  EXPECT_TRUE(test::is_destroyed_once(f));
  EXPECT_EQ(f.destructions_in_host_functions, 0);
  EXPECT_NE(f.destroyed_by.load(), std::this_thread::get_id());
  drain_deferred();
  EXPECT_EQ(unraised.count(), 0u) << "it is destroyed where CUDA calls are allowed";
}

TEST_F(Capture, InAHostFunctionNoneBegins) {
  errc answer = errc::success;
  launch_host(s, [&] { answer = result_of([&] { begin_capture(t); }); });
  s.sync();
  EXPECT_EQ(answer, errc::not_permitted);
}

}  // namespace
}  // namespace weir
