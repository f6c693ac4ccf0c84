// capture_failure_test.cpp - captures that end with no graph, and who is to blame: streams not joined, and calls that broke them.
#include <weir/buffer.hpp>
#include <weir/capture.hpp>
#include <weir/copy.hpp>
#include <weir/fill.hpp>
#include <weir/graph_exec.hpp>
#include <weir/name.hpp>
#include <weir/to_string.hpp>

#include <string>

#include <gtest/gtest.h>

#include "capture_fixture.hpp"
#include "driver/table.hpp"
#include "support/errors.hpp"

namespace weir {
namespace {

using detail::driver;
using test::failure_of;
using test::result_of;

class CaptureFailure : public test::capture_fixture {};

TEST_F(CaptureFailure, ABodyThatBreaksTheCaptureAndThrowsIsHeardItself) {
  const event outside = t.record();
  const auto failure = failure_of([&] { static_cast<void>(capture(s, [&] { s.wait(outside); })); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::stream_capture_isolation);
  EXPECT_STREQ(failure->call(), "cuStreamWaitEvent");
  expect_ordinary();
}

// Rules 96 and 97.
TEST_F(CaptureFailure, StreamsThatWereNotJoinedAreNamed) {
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

TEST_F(CaptureFailure, AStreamThatIsJoinedThroughAnotherIsJoined) {
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

TEST_F(CaptureFailure, ForksAreJoinedOnRequest) {
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
TEST_F(CaptureFailure, ABrokenCaptureNamesTheFirstCallThatBrokeIt) {
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
  EXPECT_TRUE(says(*failure, "capture_failure_test.cpp:" + std::to_string(line))) << failure->what();
  EXPECT_TRUE(says(*failure, "relaxed")) << failure->what();
  EXPECT_FALSE(says(*failure, "cuMemset")) << failure->what();
  expect_ordinary();
}

TEST_F(CaptureFailure, ACallPastWeirThatBreaksItIsCalledThat) {
  const auto failure = failure_of([&] {
    static_cast<void>(capture(s, [&] { EXPECT_NE(driver().cuStreamSynchronize(s.get()), abi::CUDA_SUCCESS); }));
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::stream_capture_invalidated);
  EXPECT_TRUE(says(*failure, "past weir")) << failure->what();
  expect_ordinary();
}

}  // namespace
}  // namespace weir
