// SPDX-License-Identifier: Apache-2.0
// cupy_test.cpp - the code that docs/coming-from/cupy.md shows beside CuPy.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include <weir/weir.hpp>

namespace {

void step() {}

TEST(ComingFromCupy, StreamsAreCreatedWithOptions) {
  // [cupy-create]
  weir::device gpu;
  weir::stream s{gpu};  // non-blocking
  weir::stream b{gpu, {.kind = weir::stream_kind::blocking}};
  weir::stream urgent{gpu, {.priority = gpu.priorities().greatest}};
  // [/cupy-create]
  EXPECT_FALSE(s.is_blocking());
  EXPECT_TRUE(b.is_blocking());
  EXPECT_EQ(urgent.priority(), gpu.priorities().greatest);
}

TEST(ComingFromCupy, AScopeReplacesTheWithStatement) {
  const weir::device gpu;
  weir::stream s{gpu};
  const weir::context_scope context{gpu};
  // [cupy-with]
  std::vector<long> host(10);
  std::iota(host.begin(), host.end(), 0);
  weir::buffer<long> a{s, host.size()};
  {
    weir::stream_scope current{s};
    weir::copy(weir::current_stream(), host, a);  // runs on s
    EXPECT_EQ(weir::current_stream(), s);
  }
  // the previous stream is current again
  // [/cupy-with]
  EXPECT_EQ(weir::current_stream(), weir::default_stream());
  std::vector<long> back(host.size());
  weir::copy(s, a, back);
  s.sync();
  EXPECT_EQ(back, host);
}

TEST(ComingFromCupy, UseSetsTheCurrentStream) {
  const weir::device gpu;
  const weir::context_scope context{gpu};
  const weir::stream_scope restore{weir::current_stream()};
  // [cupy-use]
  weir::stream s{gpu};
  weir::set_current_stream(s);  // until the next set_current_stream(), on this thread
  EXPECT_EQ(weir::current_stream(), s);
  weir::set_current_stream(weir::stream_ref::legacy());
  EXPECT_EQ(weir::current_stream(), weir::stream_ref::legacy());
  // [/cupy-use]
}

TEST(ComingFromCupy, EachThreadHasACurrentStreamPerDevice) {
  const weir::device gpu;
  weir::stream s{gpu};
  // [cupy-per-thread-and-device]
  weir::set_current_stream(s);
  std::thread other{[&] {
    // each thread has its own, for each device
    EXPECT_NE(weir::current_stream(gpu), s);
  }};
  other.join();
  EXPECT_EQ(weir::current_stream(gpu), s);
  // [/cupy-per-thread-and-device]
  const weir::context_scope context{gpu};
  weir::set_current_stream(weir::default_stream());
}

TEST(ComingFromCupy, AStreamIsSynchronized) {
  using namespace std::chrono_literals;
  const weir::device gpu;
  weir::stream s{gpu};
  // [cupy-synchronize]
  s.sync();
  bool done = s.done();              // throws if the work failed
  bool in_time = s.sync_for(100ms);  // CuPy has no such wait
  gpu.sync();
  // [/cupy-synchronize]
  EXPECT_TRUE(done);
  EXPECT_TRUE(in_time);
}

TEST(ComingFromCupy, EventsOrderTwoStreams) {
  const weir::device gpu;
  weir::stream s{gpu}, t{gpu};
  weir::pinned_buffer<int> word{1, gpu};
  word[0] = 0;
  // [cupy-events]
  weir::event e1{gpu};  // never recorded: complete
  s.record(e1);
  weir::event e2 = s.record();  // created and recorded
  t.wait(e2);                   // the device waits
  weir::fill(t, word, 7);
  weir::event e3 = t.record();
  e3.sync();  // the host waits
  bool done = e2.done();
  // [/cupy-events]
  EXPECT_TRUE(done);
  EXPECT_TRUE(e1.done());
  EXPECT_EQ(word[0], 7);
}

TEST(ComingFromCupy, EventsTakeOptions) {
  const weir::device gpu;
  // [cupy-event-options]
  weir::event sleeps{gpu, {.blocking_sync = true}};
  weir::timed_event timed{gpu};
  // [/cupy-event-options]
  EXPECT_TRUE(sleeps.blocking_sync());
  EXPECT_TRUE(timed.done());
}

TEST(ComingFromCupy, TimedEventsMeasureTime) {
  const weir::device gpu;
  weir::stream s{gpu};
  weir::buffer<int> x{s, 1 << 16};
  // [cupy-elapsed]
  weir::timed_event start = s.record_timed();
  weir::fill(s, x, 1);
  weir::timed_event end = s.record_timed();
  end.sync();
  float ms = weir::elapsed(start, end);
  // [/cupy-elapsed]
  EXPECT_GE(ms, 0.0f);
}

TEST(ComingFromCupy, TheDefaultStreamsHaveNames) {
  const weir::device gpu;
  const weir::context_scope context{gpu};
  // [cupy-default-streams]
  weir::stream_ref null = weir::stream_ref::legacy();
  weir::stream_ref ptds = weir::stream_ref::per_thread();
  weir::stream_ref first = weir::default_stream();
  // [/cupy-default-streams]
  null.sync();
  ptds.sync();
  EXPECT_NE(null, ptds);
  EXPECT_TRUE(first.is_default());
}

// Stands for a stream of another library, which owns it.
class their_stream {
 public:
  explicit their_stream(CUstream_st* handle) : handle_{handle} {}
  [[nodiscard]] CUstream_st* get() const { return handle_; }

 private:
  CUstream_st* handle_;
};

TEST(ComingFromCupy, ForeignStreamsAreBorrowedOrKept) {
  const weir::device gpu;
  const weir::stream owner{gpu};
  const their_stream theirs{owner.get()};
  const auto shared = std::make_shared<int>(0);
  // [cupy-external]
  CUstream_st* raw = theirs.get();
  weir::stream_ref borrowed{raw};         // destroys nothing
  weir::stream_ref also{theirs};          // anything with get()
  weir::shared_stream kept{raw, shared};  // keeps its owner alive
  EXPECT_EQ(borrowed.get(), also.get());  // .ptr
  EXPECT_EQ(borrowed.device(), gpu);      // the real device, never -1
  EXPECT_EQ(kept.ref(), borrowed);
  // [/cupy-external]
  EXPECT_EQ(shared.use_count(), 2);
}

TEST(ComingFromCupy, HostFunctionsAndCallbacksRun) {
  const weir::device gpu;
  weir::stream s{gpu};
  // [cupy-host-functions]
  std::string heard;
  weir::launch_host(s, [&] { heard = "copied"; });

  weir::errc result = weir::errc::unknown;
  weir::add_callback(s, [&](weir::errc status) { result = status; });
  s.sync();  // also throws exceptions of host functions
  // [/cupy-host-functions]
  EXPECT_EQ(heard, "copied");
  EXPECT_EQ(result, weir::errc::success);
}

TEST(ComingFromCupy, ABufferUsedOnTwoStreamsIsFreedAfterBoth) {
  const weir::device gpu;
  weir::stream s{gpu}, t{gpu};
  weir::pinned_buffer<float> host{1000, gpu};
  // [cupy-memory]
  {
    weir::buffer<float> x{s, 1000};
    weir::fill(s, x, 1.5f);
    t.wait(s);
    weir::copy(t, x, host);
  }  // freed on s, after the copy on t
  t.sync();
  // [/cupy-memory]
  EXPECT_EQ(host[999], 1.5f);
}

TEST(ComingFromCupy, EachDeviceHasItsStreams) {
  // [cupy-devices]
  for (weir::device gpu : weir::device::all()) {
    weir::stream s{gpu};  // no "with Device" is needed
    step();
    s.sync();
  }
  // [/cupy-devices]
  EXPECT_GE(weir::device::count(), 1);
}

TEST(ComingFromCupy, AKernelIsCompiledAndLaunched) {
  const weir::device gpu;
  const weir::stream s{gpu};
  const int n = 100;
  weir::buffer<float> x{s, n};
  weir::buffer<float> y{s, n};
  weir::fill(s, x, 2.0f);
  weir::fill(s, y, 1.0f);
  // [cupy-kernel]
  const weir::kernel axpy = weir::program{R"(
    template <class T> __global__ void axpy(T a, const T* x, T* y, int n) {
      int i = blockDim.x * blockIdx.x + threadIdx.x;
      if (i < n) y[i] += a * x[i];
    })",
                                          {.name_expressions = {"axpy<float>"}}}
                                .compile(gpu)
                                .kernel("axpy<float>");
  weir::launch(s, weir::grid(n), axpy, 2.0f, weir::in(x), weir::inout(y), n);
  // [/cupy-kernel]
  std::vector<float> result(n);
  weir::copy(s, y, result);
  s.sync();
  EXPECT_EQ(result[99], 5.0f);
}

}  // namespace
