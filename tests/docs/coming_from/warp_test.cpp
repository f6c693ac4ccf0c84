// SPDX-License-Identifier: Apache-2.0
// warp_test.cpp - the code that docs/coming-from/warp.md shows beside NVIDIA Warp.
#include <gtest/gtest.h>

#include <vector>
#include <weir/weir.hpp>

namespace {

TEST(ComingFromWarp, StreamsAreCreatedWithAPriority) {
  // [warp-create]
  weir::device gpu{0};
  weir::stream s1{gpu};
  weir::stream s2{gpu, {.priority = gpu.priorities().clamped(-1)}};
  // [/warp-create]
  EXPECT_EQ(s1.priority(), 0);
  EXPECT_TRUE(gpu.priorities().contains(s2.priority()));
}

TEST(ComingFromWarp, OperationsTakeAnExplicitStream) {
  const weir::device gpu;
  weir::stream s{gpu};
  weir::pinned_buffer<float> host{100, gpu};
  // [warp-explicit]
  weir::buffer<float> a{s, host.size()};
  weir::fill(s, a, 3.0f);
  weir::copy(s, a, host);  // never waits for another stream by itself
  s.sync();
  // [/warp-explicit]
  EXPECT_EQ(host[99], 3.0f);
}

TEST(ComingFromWarp, AScopeSetsAndOrdersTheCurrentStream) {
  const weir::device gpu;
  weir::stream s{gpu};
  const weir::context_scope context{gpu};
  weir::pinned_buffer<int> numbers{10, gpu};
  // [warp-scoped]
  {
    weir::stream_scope current{s, {.wait_on_entry = true, .wait_on_exit = true}};
    weir::fill(weir::current_stream(), numbers, 5);
  }
  weir::current_stream().sync();  // waits for s too: wait_on_exit
  // [/warp-scoped]
  EXPECT_EQ(numbers[9], 5);
}

TEST(ComingFromWarp, UseSetsTheCurrentStream) {
  const weir::device gpu;
  const weir::context_scope context{gpu};
  const weir::stream_scope restore{weir::current_stream()};
  // [warp-set-stream]
  weir::stream s{gpu};
  weir::set_current_stream(s);  // adds no ordering
  weir::stream_ref now = weir::current_stream(gpu);
  // [/warp-set-stream]
  EXPECT_EQ(now, s);
}

TEST(ComingFromWarp, EventsAreRecordedAgain) {
  const weir::device gpu;
  weir::stream s1{gpu}, s2{gpu};
  // [warp-events]
  weir::event e = s1.record();
  s2.wait(e);

  weir::event kept{gpu};
  s1.record(kept);  // may be recorded again: a wait keeps its record
  s2.wait(kept);
  // [/warp-events]
  s2.sync();
  EXPECT_TRUE(kept.done());
}

TEST(ComingFromWarp, AStreamWaitsForAStream) {
  const weir::device gpu;
  weir::stream s1{gpu}, s2{gpu};
  // [warp-wait-stream]
  s2.wait(s1);  // thread-safe
  // [/warp-wait-stream]
  s2.sync();
  EXPECT_TRUE(s1.done());
}

TEST(ComingFromWarp, StreamsEventsAndDevicesAreSynchronized) {
  const weir::device gpu;
  weir::stream s{gpu};
  const weir::event e = s.record();
  // [warp-synchronize]
  s.sync();
  e.sync();
  gpu.sync();
  for (weir::device each : weir::device::all()) each.sync();
  // [/warp-synchronize]
  EXPECT_TRUE(e.done());
}

TEST(ComingFromWarp, TimedEventsMeasureTime) {
  const weir::device gpu;
  weir::stream s{gpu};
  weir::buffer<int> x{s, 4096};
  // [warp-timing]
  weir::timed_event start = s.record_timed();
  weir::fill(s, x, 0);
  weir::timed_event end = s.record_timed();
  float ms = weir::sync_elapsed(start, end);  // waits; elapsed() does not
  // [/warp-timing]
  EXPECT_GE(ms, 0.0f);
}

TEST(ComingFromWarp, StreamsOfTwoDevicesExchangeMemory) {
  const weir::device first{0};
  const weir::device second{weir::device::count() - 1};
  weir::pinned_buffer<int> host{64, first};
  // [warp-devices]
  weir::stream s{first};
  weir::stream t{second};
  weir::buffer<int> x{s, host.size()};
  weir::buffer<int> y{t, host.size()};
  weir::fill(s, x, 9);
  t.wait(s);            // across devices
  weir::copy(t, x, y);  // likewise
  weir::copy(t, y, host);
  t.sync();
  // [/warp-devices]
  EXPECT_EQ(host[63], 9);
}

TEST(ComingFromWarp, PinnedMemoryIsCopiedAsynchronously) {
  const weir::device gpu;
  weir::stream s{gpu};
  weir::buffer<float> a{s, 1000};
  // [warp-pinned]
  weir::pinned_buffer<float> host{1000, gpu};
  for (float& number : host) number = 1.0f;
  weir::copy(s, host, a);  // the host does not wait
  s.sync();
  // [/warp-pinned]
  std::vector<float> back(a.size());
  weir::sync_scope(s, [&](weir::stream_ref inside) { weir::copy(inside, a, back); });
  EXPECT_EQ(back[999], 1.0f);
}

TEST(ComingFromWarp, TheLegacyStreamReplacesTheNullStream) {
  const weir::device gpu;
  const weir::context_scope context{gpu};
  // [warp-null]
  weir::stream_ref null = weir::stream_ref::legacy();
  weir::stream s{gpu, {.kind = weir::stream_kind::blocking}};
  bool blocking = s.is_blocking();
  // [/warp-null]
  null.sync();
  EXPECT_TRUE(blocking);
}

TEST(ComingFromWarp, AReferenceBorrowsAForeignStream) {
  const weir::device gpu;
  const weir::stream owner{gpu};
  CUstream_st* const handle = owner.get();
  // [warp-external]
  weir::stream_ref s{handle};  // may be copied freely
  weir::stream_ref again{handle};
  // [/warp-external]
  EXPECT_EQ(s, again);
}

TEST(ComingFromWarp, AKernelIsCompiledAndLaunched) {
  const weir::device gpu;
  const weir::stream s{gpu};
  const int n = 100;
  weir::buffer<float> x{s, n};
  weir::fill(s, x, 2.0f);
  // [warp-kernel]
  const weir::kernel scale = weir::program{R"(
    __global__ void scale(float* x, float by, int n) {
      int i = blockDim.x * blockIdx.x + threadIdx.x;
      if (i < n) x[i] *= by;
    })"}
                                 .compile(gpu)
                                 .kernel("scale");
  weir::launch(s, weir::grid(n), scale, weir::inout(x), 3.0f, n);
  // [/warp-kernel]
  std::vector<float> result(n);
  weir::copy(s, x, result);
  s.sync();
  EXPECT_EQ(result[99], 6.0f);
}

}  // namespace
