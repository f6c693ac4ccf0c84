// SPDX-License-Identifier: Apache-2.0
// cuda_core_test.cpp - the code that docs/coming-from/cuda-core.md shows beside cuda.core.
#include <gtest/gtest.h>

#include <utility>
#include <weir/weir.hpp>

namespace {

TEST(ComingFromCudaCore, StreamsAreCreatedOnADevice) {
  // [core-create]
  weir::device dev{0};
  weir::stream s{dev};
  weir::stream t{dev, {.priority = -1}};
  // [/core-create]
  EXPECT_EQ(t.priority(), -1);
  EXPECT_FALSE(s.is_blocking());
}

TEST(ComingFromCudaCore, PrioritiesAreClampedToTheRange) {
  const weir::device dev;
  // [core-priority]
  weir::priority_range range = dev.priorities();
  weir::stream s{dev, {.priority = range.clamped(-100)}};
  EXPECT_EQ(s.priority(), range.greatest);
  EXPECT_THROW(weir::stream(dev, {.priority = -100}), weir::error);
  // [/core-priority]
}

TEST(ComingFromCudaCore, AStreamReturnsItsProperties) {
  const weir::device dev;
  weir::stream s{dev};
  // [core-properties]
  CUstream_st* handle = s.get();
  weir::device device = s.device();
  weir::context_ref context = s.context();
  bool nonblocking = !s.is_blocking();
  int priority = s.priority();
  // [/core-properties]
  EXPECT_NE(handle, nullptr);
  EXPECT_EQ(device, dev);
  EXPECT_EQ(context, dev.primary_context());
  EXPECT_TRUE(nonblocking);
  EXPECT_EQ(priority, 0);
}

TEST(ComingFromCudaCore, AScopeSetsTheCurrentContext) {
  const weir::device dev;
  // [core-set-current]
  // A stream names its device, so weir has no set_current(). A scope makes a context current for
  // other code:
  weir::context_scope current{dev};
  EXPECT_EQ(weir::current_device(), dev);
  // [/core-set-current]
}

TEST(ComingFromCudaCore, AStreamWaitsForAnEventOrAStream) {
  const weir::device dev;
  weir::stream s{dev}, t{dev};
  // [core-wait]
  weir::event e = s.record();
  t.wait(e);  // an event,
  t.wait(s);  // or all work queued on s so far
  t.sync();
  // [/core-wait]
  EXPECT_TRUE(e.done());
}

TEST(ComingFromCudaCore, StreamsEventsAndDevicesAreSynchronized) {
  const weir::device dev;
  weir::stream s{dev};
  const weir::event e = s.record();
  // [core-sync]
  s.sync();
  e.sync();
  dev.sync();
  // [/core-sync]
  EXPECT_TRUE(s.done());
}

TEST(ComingFromCudaCore, EventsMeasureTime) {
  const weir::device dev;
  weir::stream s{dev};
  // [core-events]
  weir::timed_event e1 = s.record_timed();
  weir::timed_event e2{dev, {.blocking_sync = true}};
  s.record(e2);
  e2.sync();
  float ms = weir::elapsed(e1, e2);
  bool done = e1.done();
  // [/core-events]
  EXPECT_GE(ms, 0.0f);
  EXPECT_TRUE(done);
}

TEST(ComingFromCudaCore, AReferenceBorrowsAForeignStream) {
  const weir::device dev;
  weir::stream owner{dev};
  CUstream_st* const handle = owner.get();
  // [core-foreign]
  weir::stream_ref s{handle};  // from_handle: borrowed
  weir::stream_ref legacy = weir::stream_ref::legacy();
  weir::stream_ref mine = weir::stream_ref::per_thread();
  // [/core-foreign]
  EXPECT_EQ(s, owner.ref());
  EXPECT_TRUE(legacy.is_default());
  EXPECT_TRUE(mine.is_default());
}

TEST(ComingFromCudaCore, AClosedStreamThrowsClosed) {
  const weir::device dev;
  weir::stream s{dev};
  // [core-close]
  s.close();
  s.close();  // a second close does nothing
  EXPECT_TRUE(s.closed());
  try {
    s.sync();
  } catch (const weir::error& e) {
    EXPECT_EQ(e.result(), weir::errc::closed);
  }
  // [/core-close]
  EXPECT_THROW(s.sync(), weir::error);
}

TEST(ComingFromCudaCore, MemoryIsAllocatedAndFreedInStreamOrder) {
  const weir::device dev;
  weir::stream s{dev};
  // [core-memory]
  weir::buffer<char> x{s, 1024};
  weir::pinned_buffer<char> host{1024, dev};
  weir::fill(s, x, 'w');
  weir::copy(s, x, host);
  s.sync();
  x.close(s);  // freed in the order of s
  // [/core-memory]
  EXPECT_EQ(host[1023], 'w');
  EXPECT_TRUE(x.closed());
}

TEST(ComingFromCudaCore, AHostFunctionRuns) {
  const weir::device dev;
  weir::stream s{dev};
  // [core-callback]
  int calls = 0;
  weir::launch_host(s, [&] { ++calls; });
  s.sync();
  // [/core-callback]
  EXPECT_EQ(calls, 1);
}

TEST(ComingFromCudaCore, AProgramIsCompiledAndLaunched) {
  const weir::device dev;
  const weir::stream s{dev};
  const int n = 100;
  weir::buffer<float> buf{s, n};
  weir::fill(s, buf, 2.0f);
  const std::string code =
      "template <class T> __global__ void twice(T* x, int n) {"
      " int i = blockDim.x * blockIdx.x + threadIdx.x; if (i < n) x[i] += x[i]; }";
  // [core-program]
  const weir::program prog{code, {.standard = "c++17", .name_expressions = {"twice<float>"}}};
  const weir::module mod = prog.compile(dev);  // for this device's architecture
  const weir::kernel kernel = mod.kernel("twice<float>");
  const weir::launch_config config{.grid = {4}, .block = {32}};
  weir::launch(s, config, kernel, weir::inout(buf), n);
  // [/core-program]
  std::vector<float> result(n);
  weir::copy(s, buf, result);
  s.sync();
  EXPECT_EQ(result[99], 4.0f);
}

}  // namespace
