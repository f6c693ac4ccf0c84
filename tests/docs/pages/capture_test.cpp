// What docs/capture.md shows.
#include <gtest/gtest.h>

#include <utility>
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

TEST_F(CapturePage, Scoped) {
  // [capture-scoped]
  weir::graph g = weir::capture(s, [&](weir::capture_scope& scope) {
    weir::fill(s, x, 1.0f);
    t.wait(s);  // t joins the capture
    weir::fill(t, y, 2.0f);
    s.wait(t);                 // and has to be waited for
    scope.keep(std::move(y));  // y lives as long as the graph can run
  });
  // [/capture-scoped]
  EXPECT_EQ(g.node_count(), 2u);
}

TEST_F(CapturePage, ByHand) {
  // [capture-by-hand]
  weir::begin_capture(s, {.mode = weir::capture_mode::relaxed});
  weir::fill(s, x, 1.0f);
  weir::graph g = weir::end_capture(s);
  // [/capture-by-hand]
  EXPECT_EQ(g.node_count(), 1u);
}

TEST_F(CapturePage, Info) {
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

}  // namespace
