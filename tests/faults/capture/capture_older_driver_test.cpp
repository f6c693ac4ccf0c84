// SPDX-License-Identifier: Apache-2.0
// capture_older_driver_test.cpp - captures with the drivers of CUDA 12.0 to 12.2, which have no
// edge data.
#include <weir/capture/capture.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/profiler/name.hpp>
#include <weir/stream/stream.hpp>

#include <string>

#include <gtest/gtest.h>

#include "api/core/call_restrictions.hpp"
#include "faults/older_driver.hpp"
#include "support/errors.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::result_of;

class CaptureWithOlderDrivers : public ::testing::TestWithParam<int> {
 protected:
  CaptureWithOlderDrivers() {
    set_name(t, "fork");
    set_name(u, "branch");
  }
  ~CaptureWithOlderDrivers() override {
    for (const stream_ref each : {s.ref(), t.ref(), u.ref()}) {
      EXPECT_EQ(capture_status_of(each), capture_status::none);
      each.sync();
    }
    EXPECT_EQ(detail::active_capture_count.load(), 0);
  }

  // Returns what y holds after a launch. The end of the graph must come after the work on y.
  [[nodiscard]] int launch_and_read(const graph& g) {
    fill(s, y, 0);
    const graph_exec exec = g.instantiate();
    exec.launch(s);
    copy(s, y, host);
    s.sync();
    return host[0];
  }
  [[nodiscard]] static bool message_contains(const error& e, const std::string& what) {
    return std::string{e.what()}.find(what) != std::string::npos;
  }

  device gpu;
  stream s{gpu};
  stream t{gpu};
  stream u{gpu};
  buffer<int> x{s, 100};
  buffer<int> y{s, 100};
  pinned_buffer<int> host{100};
  const test::older_driver older{GetParam()};
};

TEST_P(CaptureWithOlderDrivers, ACaptureWithAJoinedForkSucceeds) {
  for (const bool by_hand : {false, true}) {
    const auto body = [&] {
      fill(s, x, 1);
      t.wait(s);
      fill(t, y, 2);
      s.wait(t);
      fill(s, x, 3);
    };
    if (by_hand) begin_capture(s);
    if (by_hand) body();
    const graph g = by_hand ? end_capture(s) : capture(s, body);
    EXPECT_EQ(g.node_count(), 3u);
    EXPECT_EQ(launch_and_read(g), 2);
  }
}

TEST_P(CaptureWithOlderDrivers, ACaptureWithAnIndirectlyJoinedForkSucceeds) {
  const graph g = capture(s, [&] {
    t.wait(s);
    fill(t, y, 4);
    u.wait(t);
    fill(u, y, 5);
    s.wait(u);
  });
  EXPECT_EQ(g.node_count(), 2u);
  EXPECT_EQ(launch_and_read(g), 5);
}

TEST_P(CaptureWithOlderDrivers, TheJoinForksOptionJoinsForkedStreams) {
  const graph g = capture(s,
                          [&] {
                            fill(s, x, 1);
                            t.wait(s);
                            fill(t, x, 2);
                            u.wait(t);
                            fill(t, x, 3);
                            fill(u, y, 6);
                          },
                          {.join_forks = true});
  EXPECT_EQ(g.node_count(), 4u);
  EXPECT_EQ(launch_and_read(g), 6);
}

// Also joins a stream that was forked directly through the driver.
TEST_P(CaptureWithOlderDrivers, TheJoinForksOptionJoinsStreamsForkedThroughTheDriver) {
  const graph g = capture(s,
                          [&] {
                            const event mark = s.record();
                            ASSERT_EQ(detail::driver().cuStreamWaitEvent(t.get(), mark.get(), 0),
                                      abi::CUDA_SUCCESS);
                            fill(t, y, 6);
                          },
                          {.join_forks = true});
  EXPECT_EQ(launch_and_read(g), 6);
}

TEST_P(CaptureWithOlderDrivers, AnUnjoinedForkIsNamed) {
  const auto failure = failure_of([&] {
    static_cast<void>(capture(s, [&] {
      t.wait(s);
      fill(t, y, 7);
    }));
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::stream_capture_unjoined);
  EXPECT_TRUE(message_contains(*failure, "\"fork\"")) << failure->what();
}

TEST_P(CaptureWithOlderDrivers, OnlyTheUnjoinedForkOfSeveralIsNamed) {
  const stream last{gpu};
  set_name(last, "last");
  const auto failure = failure_of([&] {
    static_cast<void>(capture(s, [&] {
      t.wait(s);
      fill(t, y, 8);
      s.wait(t);
      fill(s, x, 1);
      u.wait(s);
      fill(u, y, 9);
      last.wait(s);
      fill(last, x, 2);
      s.wait(last);
    }));
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::stream_capture_unjoined);
  EXPECT_TRUE(message_contains(*failure, "\"branch\"")) << failure->what();
  EXPECT_FALSE(message_contains(*failure, "\"fork\"") || message_contains(*failure, "\"last\""))
      << failure->what();
}

TEST_P(CaptureWithOlderDrivers, ABrokenForkNamesTheCallThatBrokeIt) {
  const event outside = u.record();
  const auto failure = failure_of([&] {
    static_cast<void>(capture(s, [&] {
      t.wait(s);
      fill(t, y, 7);
      EXPECT_EQ(result_of([&] { t.wait(outside); }), errc::stream_capture_isolation);
    }));
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::stream_capture_invalidated);
  EXPECT_TRUE(message_contains(*failure, "cuStreamWaitEvent at")) << failure->what();
}

TEST_P(CaptureWithOlderDrivers, TheFrontierOfAForkIsReported) {
  const graph g = capture(s, [&] {
    fill(s, x, 1);
    t.wait(s);
    fill(t, y, 2);
    const capture_info info = capture_info_of(t);
    EXPECT_EQ(info.id, capture_info_of(s).id);
    ASSERT_EQ(info.frontier.size(), 1u);
    EXPECT_EQ(info.frontier[0].data, edge_data{});
    s.wait(t);
  });
  EXPECT_EQ(g.node_count(), 2u);
}

INSTANTIATE_TEST_SUITE_P(Of, CaptureWithOlderDrivers, ::testing::Values(12000, 12010, 12020));

}  // namespace
}  // namespace weir
