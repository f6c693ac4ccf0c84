// SPDX-License-Identifier: Apache-2.0
// singe_test.cpp - the code that docs/coming-from/singe-cuda.md shows beside singe-cuda.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>
#include <weir/weir.hpp>

namespace {

TEST(ComingFromSinge, StreamsAreCreatedWithAPriority) {
  // [singe-create]
  weir::device gpu;
  weir::stream s{gpu};
  weir::stream t{gpu, {.priority = gpu.priorities().clamped(-5)}};
  // [/singe-create]
  EXPECT_NE(s.id(), t.id());
}

TEST(ComingFromSinge, AQueryThrowsOrReturnsACode) {
  const weir::device gpu;
  weir::stream s{gpu};
  // [singe-query]
  s.sync();
  bool done = s.done();            // throws on errors
  weir::errc status = s.status();  // or returns a code
  // [/singe-query]
  EXPECT_TRUE(done);
  EXPECT_EQ(status, weir::errc::success);
}

TEST(ComingFromSinge, EventsOrderAndMeasure) {
  const weir::device gpu;
  weir::stream s{gpu}, t{gpu};
  // [singe-events]
  weir::timed_event start{gpu};
  s.record(start);
  t.wait(start);
  weir::timed_event end = t.record_timed();
  end.sync();
  float ms = weir::elapsed(start, end);
  // [/singe-events]
  EXPECT_GE(ms, 0.0f);
}

TEST(ComingFromSinge, AScopeWaitsForItsWork) {
  const weir::device gpu;
  weir::stream s{gpu};
  weir::buffer<int> x{s, 100};
  weir::fill(s, x, 4);
  // [singe-sync-scope]
  std::vector<int> host(100);
  weir::sync_scope(s, [&](weir::stream_ref inside) {
    weir::copy(inside, x, host);
  });  // host is filled here, unless an exception is thrown
  // [/singe-sync-scope]
  EXPECT_EQ(host[99], 4);
}

TEST(ComingFromSinge, HostFunctionsAndCallbacksRun) {
  const weir::device gpu;
  weir::stream s{gpu};
  int seen = 0;
  // [singe-host-functions]
  auto owned = std::make_unique<int>(42);
  weir::launch_host_once(s, [&seen, owned = std::move(owned)] { seen = *owned; });

  weir::errc result = weir::errc::unknown;
  weir::add_callback(s, [&](weir::errc status) { result = status; });
  s.sync();
  // [/singe-host-functions]
  EXPECT_EQ(seen, 42);
  EXPECT_EQ(result, weir::errc::success);
}

TEST(ComingFromSinge, ACoroutineAwaitsStreamsAndFutures) {
  const weir::device gpu;
  const weir::stream s{gpu};
  const weir::graph_exec graph = weir::capture(s, [] {}).instantiate();
  const weir::event event = s.record();
  const auto add_up = [](weir::stream_ref on, weir::buffer<int>& into) { weir::fill(on, into, 3); };
  weir::sync_wait([&]() -> weir::task<> {
    // [singe-futures]
    co_await s.completion();  // throws the error of the work
    weir::buffer<int> sum = co_await s.enqueue([&](weir::stream_ref on) {
      weir::buffer<int> result{on, 1};
      add_up(on, result);
      return result;
    });
    co_await graph.launch_with_completion(s);
    co_await event.completion();
    // [/singe-futures]
    EXPECT_EQ(sum.size(), 1U);
  }());
}

TEST(ComingFromSinge, HandlesAreReleasedAdoptedAndBorrowed) {
  const weir::device gpu;
  weir::stream s{gpu};
  // [singe-raw]
  CUstream_st* raw = s.get();        // as_raw
  CUstream_st* given = s.release();  // into_raw
  weir::stream taken = weir::stream::adopt(given);
  weir::stream_ref borrowed = taken;
  // [/singe-raw]
  EXPECT_EQ(raw, given);
  EXPECT_EQ(borrowed.get(), raw);
}

TEST(ComingFromSinge, MemoryIsCopiedThereAndBack) {
  const weir::device gpu;
  weir::stream s{gpu};
  std::vector<float> host(256, 2.5f), back(256);
  // [singe-memory]
  weir::buffer<float> x{s, host.size()};
  weir::copy(s, host, x);
  weir::copy(s, x, back);
  s.sync();
  // [/singe-memory]
  EXPECT_EQ(back, host);
}

TEST(ComingFromSinge, AContextHoldsStreams) {
  const weir::device gpu;
  // [singe-contexts]
  weir::context context{gpu};  // a counted reference to the primary one
  weir::stream s{context};
  context.sync();
  // [/singe-contexts]
  EXPECT_EQ(s.context(), gpu.primary_context());
}

}  // namespace
