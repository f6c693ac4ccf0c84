// SPDX-License-Identifier: Apache-2.0
// waiting_test.cpp - the code that docs/guide/waiting.md shows.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>
#include <weir/weir.hpp>

namespace {

TEST(WaitingPage, TheHostWaitsAndPolls) {
  using namespace std::chrono_literals;
  const weir::device gpu;
  const weir::stream s{gpu};
  const weir::event e = s.record();
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  // [waiting-ways]
  s.sync();                        // all work queued so far
  e.sync();                        // the work before the last record
  bool in_time = s.sync_for(10s);  // false on timeout
  bool reached = e.sync_until(deadline);
  bool done = s.done();  // queries without waiting
  gpu.sync();            // all streams of the device's primary context
  // [/waiting-ways]
  EXPECT_TRUE(in_time && reached && done);
}

TEST(WaitingPage, TryDoneReturnsACode) {
  const weir::device gpu;
  const weir::stream s{gpu};
  // [waiting-poll]
  weir::errc status = s.status();
  while (status == weir::errc::not_ready) {
    std::this_thread::yield();
    status = s.status();
  }
  bool failed = status != weir::errc::success;
  // [/waiting-poll]
  EXPECT_FALSE(failed);
}

TEST(WaitingPage, AScopeWaitsForItsWork) {
  const weir::device gpu;
  const weir::stream s{gpu};
  weir::buffer<float> x{s, 100};
  weir::fill(s, x, 2.0f);
  // [waiting-scope]
  std::vector<float> host(100);
  weir::sync_scope(s, [&](weir::stream_ref inside) { weir::copy(inside, x, host); });
  float last = host.back();  // the copy has finished
  // [/waiting-scope]
  EXPECT_EQ(last, 2.0f);
}

TEST(WaitingPage, AGuardForbidsWaits) {
  const weir::device gpu;
  const weir::stream s{gpu};
  weir::buffer<float> x{s, 100};
  weir::pinned_buffer<float> pinned{100};
  {
    // [waiting-guard]
    weir::sync_guard none{weir::sync_rule::forbidden};  // until the end of the block
    weir::copy(s, x, pinned);                           // allowed, as it only queues
    // s.sync() would throw not_permitted, naming its own line and the guard's
    // [/waiting-guard]
    EXPECT_THROW(s.sync(), weir::error);
  }
  s.sync();
}

}  // namespace
