// SPDX-License-Identifier: Apache-2.0
// capture_test.cpp - the code that docs/guide/capture.md shows.
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>
#include <weir/weir.hpp>

namespace {

class CapturePage : public ::testing::Test {
 protected:
  weir::device gpu;
  weir::stream s{gpu};
  weir::stream t{gpu};
  weir::buffer<float> x{s, 100};
  weir::buffer<float> y{s, 100};
};

TEST_F(CapturePage, AScopedCaptureBecomesAGraph) {
  // [capture-scoped]
  weir::graph g = weir::capture(s, [&](weir::capture_scope& scope) {
    weir::fill(s, x, 1.0f);
    t.wait(s);  // t joins the capture
    weir::fill(t, y, 2.0f);
    s.wait(t);                 // and must be joined
    scope.keep(std::move(y));  // y lives as long as the graph can run
  });
  // [/capture-scoped]
  EXPECT_EQ(g.node_count(), 2u);
}

TEST_F(CapturePage, BeginAndEndMakeAGraph) {
  // [capture-by-hand]
  weir::begin_capture(s, {.mode = weir::capture_mode::relaxed});
  weir::fill(s, x, 1.0f);
  weir::graph g = weir::end_capture(s);
  // [/capture-by-hand]
  EXPECT_EQ(g.node_count(), 1u);
}

TEST_F(CapturePage, CaptureInfoReturnsTheFrontier) {
  const weir::graph g = weir::capture(s, [&] {
    weir::fill(s, x, 1.0f);
    // [capture-info]
    const weir::capture_info info = weir::capture_info_of(s);
    const bool capturing = info.status == weir::capture_status::active;
    const std::size_t behind = info.frontier.size();  // nodes that the next operation depends on
    // [/capture-info]
    EXPECT_TRUE(capturing);
    EXPECT_EQ(behind, 1u);
  });
  EXPECT_EQ(g.node_count(), 1u);
}

TEST_F(CapturePage, AForkSpreadsACaptureOverStreams) {
  const weir::stream_pool pool{gpu};
  // [capture-fork]
  const weir::graph g = weir::capture(s, [&](weir::capture_scope& scope) {
    weir::stream_fork f{scope, 3, pool};  // or {scope, 3}, or {scope, {t, u}}
    for (const weir::stream_ref each : f) weir::fill(each, each == s ? x : y, 1.0f);
    f.join();
  });
  // [/capture-fork]
  EXPECT_EQ(g.node_count(), 3u);
}

TEST_F(CapturePage, ACaptureContinuesAGraph) {
  // [capture-to]
  weir::graph g;
  const auto first = g.add(weir::fill_parameters{x, 1.0f});
  weir::capture_to(
      s, g, [&] { weir::fill(s, y, 2.0f); }, first);
  // [/capture-to]
  EXPECT_EQ(g.edges().size(), 1u);
}

TEST_F(CapturePage, UpdatedDependenciesOrderALaterNode) {
  const weir::graph g = weir::capture(s, [&](weir::capture_scope& scope) {
    // [capture-frontier]
    const auto by_hand = scope.graph().add(weir::fill_parameters{x, 2.0f});
    weir::update_capture_dependencies(scope,
                                      by_hand);  // later work of the stream comes after it, too
    // [/capture-frontier]
    weir::fill(s, y, 2.0f);
  });
  EXPECT_EQ(g.edges().size(), 1u);
}

TEST_F(CapturePage, ANodeIsAddedAtThePointOfTheCapture) {
  if (!weir::conditional_support_of_driver().if_and_while) GTEST_SKIP() << "an older driver";
  const weir::stream t{weir::device{}};
  const weir::graph g = weir::capture(s, [&](weir::capture_scope& scope) {
    // [capture-node]
    weir::fill(scope, x, 1.0f);
    weir::condition always{scope.graph(), 1};
    const auto node = weir::capture_node(scope, weir::if_parameters{always});
    weir::capture_to(t, node.body(), [&] { weir::fill(t, x, 2.0f); });
    weir::copy(scope, x, y);  // after the conditional node
    // [/capture-node]
  });
  EXPECT_EQ(g.edges().size(), 2u);
}

TEST_F(CapturePage, AnOuterCaptureKeepsABuffer) {
  weir::buffer<float> scratch{s, 100};
  const weir::graph g = weir::capture(s, [&] {
    // [capture-outer]
    std::optional<weir::capture_participant> outer;
    if (weir::capture_status_of(s) != weir::capture_status::none) outer.emplace(s);
    weir::fill(s, scratch, 0.0f);
    if (outer) outer->keep(std::move(scratch));
    // [/capture-outer]
  });
  EXPECT_EQ(g.node_count(), 1u);
}

TEST_F(CapturePage, ACapturedBufferIsAllocatedAtEachLaunch) {
  constexpr std::size_t size = 100;
  std::vector<float> found(size);
  // [capture-memory]
  std::optional<weir::buffer<float>> left;
  const weir::graph g = weir::capture(s, [&] { weir::fill(s, left.emplace(s, size), 1.0f); });
  weir::graph_exec run = g.instantiate();
  run.launch(s);  // allocates
  weir::copy(s, *left, x);
  left.reset();   // frees
  run.launch(s);  // allocates again
  // [/capture-memory]
  weir::copy(s, x, found);
  static_cast<void>(weir::buffer<float>::adopt(
      s, g.nodes().front().as<weir::allocation_node>().memory<float>().data(), size));
  s.sync();
  EXPECT_EQ(found[size - 1], 1.0f);
}

TEST_F(CapturePage, ACaptureBecomesAnExecutable) {
  // [capture-exec]
  weir::graph_exec exec = weir::capture_exec(s, [&] { weir::fill(s, x, 1.0f); });
  const weir::graph_update updated = exec.update(weir::capture(s, [&] { weir::fill(s, x, 2.0f); }));
  // [/capture-exec]
  EXPECT_TRUE(updated);
}

}  // namespace
