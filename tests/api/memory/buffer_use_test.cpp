// SPDX-License-Identifier: Apache-2.0
// buffer_use_test.cpp - buffers that are used on other streams than their own: which uses are
// tracked, and what the free waits for.
#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream_fork.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "support/device_copy.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver;
using detail::driver_table;
using detail::fault_table;
using test::contents;
using test::gate;
using test::result_of;

class BufferUse : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 1 << 14;

  // Returns true if later work of the stream is blocked. A blocked stream always gives true; an
  // unblocked one finishes long before the timeout.
  static bool is_held(stream_ref stream) { return !stream.sync_for(std::chrono::milliseconds{5}); }

  device gpu;
  stream s{gpu};
  stream t{gpu};
  pinned_buffer<std::uint32_t> host{size};
};

// Tracking costs nothing if the buffer stays on its stream.
TEST_F(BufferUse, UseOnTheBuffersOwnStreamRecordsNoEvent) {
  const fault_table calls;
  {
    buffer<std::uint32_t> x{s, size};
    fill(s, x, 1u);
    copy(s, x, x);
    x.used_on(s);
  }
  EXPECT_EQ(calls.count(&driver_table::cuEventCreate), 0);
  EXPECT_EQ(calls.count(&driver_table::cuEventRecord), 0);
  EXPECT_EQ(calls.count(&driver_table::cuStreamWaitEvent), 0);
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeAsync), 1);
}

// A part of a buffer that names its owner, as weir's operations require it for tracking.
struct tracked_part {
  const buffer<std::uint32_t>& whole;
  std::size_t count;
  [[nodiscard]] const std::uint32_t* data() const { return whole.data(); }
  [[nodiscard]] std::size_t size() const { return count; }
  [[nodiscard]] const detail::tracked_memory& tracked() const { return whole.tracked(); }
};

// A captured use would prevent that the buffer is closed.
TEST_F(BufferUse, ZeroElementsAreNoUse) {
  buffer<std::uint32_t> x{s, size};
  const tracked_part none{x, 0};
  const std::span<std::uint32_t> nowhere;
  begin_capture(t);
  copy(t, none, nowhere);
  EXPECT_NO_THROW(x.close());
  EXPECT_EQ(end_capture(t).node_count(), 0u);
  EXPECT_EQ(result_of([&] { copy(t, none, nowhere); }), errc::closed);
}

// The problem that PyTorch's record_stream() solves: a buffer is freed while another stream still
// reads it.
TEST_F(BufferUse, TheFreeWaitsForTheStreamsThatUsedTheBuffer) {
  std::optional<buffer<std::uint32_t>> x{std::in_place, s, size};
  fill(s, *x, 7u);
  t.wait(s);
  gate held{t};
  copy(t, *x, host);
  x.reset();
  buffer<std::uint32_t> y{s, size};  // probably the same memory
  fill(s, y, 8u);
  EXPECT_TRUE(is_held(s));
  held.open();
  t.sync();
  s.sync();
  for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(host[i], 7u) << i;
}

TEST_F(BufferUse, ClosingDoesNotBlockTheHost) {
  buffer<std::uint32_t> x{s, size};
  fill(s, x, 7u);
  t.wait(s);
  gate held{t};
  copy(t, x, host);
  x.close();  // returns without blocking
  EXPECT_TRUE(is_held(s));
  held.open();
  s.sync();
}

// used_on() reports work that weir did not queue.
TEST_F(BufferUse, UsedOnCoversForeignWork) {
  std::optional<buffer<std::uint32_t>> x{std::in_place, s, size};
  fill(s, *x, 7u);
  t.wait(s);
  gate held{t};
  ASSERT_EQ(
      driver().cuMemcpyAsync(reinterpret_cast<std::uintptr_t>(host.data()),
                             reinterpret_cast<std::uintptr_t>(x->data()), x->size_bytes(), t.get()),
      abi::CUDA_SUCCESS);
  x->used_on(t);
  x.reset();
  EXPECT_TRUE(is_held(s));
  held.open();
  s.sync();
  t.sync();
  EXPECT_EQ(host[size - 1], 7u);
}

// One call is enough for a stream that weir owns: later uses count, too.
TEST_F(BufferUse, TheFreeCoversUsesAfterTheFirst) {
  std::optional<buffer<std::uint32_t>> x{std::in_place, s, size};
  t.wait(s);
  x->used_on(t);
  t.sync();
  gate held{t};  // later work that is not reported again
  x.reset();
  EXPECT_TRUE(is_held(s));
  held.open();
  s.sync();
}

// A use on a stream that weir does not own is recorded at once, since the stream may be destroyed
// later.
TEST_F(BufferUse, AForeignStreamMayBeDestroyedBeforeTheFree) {
  abi::CUstream raw = nullptr;
  {
    const context_scope current{gpu};
    ASSERT_EQ(driver().cuStreamCreate(&raw, abi::CU_STREAM_NON_BLOCKING), abi::CUDA_SUCCESS);
  }
  std::optional<buffer<std::uint32_t>> x{std::in_place, s, size};
  fill(s, *x, 7u);
  stream_ref{raw}.wait(s);
  gate held{stream_ref{raw}};
  copy(stream_ref{raw}, *x, host);
  ASSERT_EQ(driver().cuStreamDestroy_v2(raw), abi::CUDA_SUCCESS);
  x.reset();
  EXPECT_TRUE(is_held(s));
  held.open();
  s.sync();
  EXPECT_EQ(host[0], 7u);
}

// Rules 1 and 167: a stream and its buffer may be destroyed in any order.
TEST_F(BufferUse, TheStreamOfABufferLivesUntilTheFree) {
  auto owner = std::make_unique<stream>(gpu);
  std::optional<buffer<std::uint32_t>> x{std::in_place, *owner, size};
  const fault_table calls;
  fill(*owner, *x, 9u);
  owner.reset();
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 0);
  EXPECT_EQ(contents(x->stream(), *x).back(), 9u);
  x.reset();
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeAsync), 1);
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 1);
}

TEST_F(BufferUse, AStreamThatUsedABufferLivesUntilTheFree) {
  auto user = std::make_unique<stream>(gpu);
  std::optional<buffer<std::uint32_t>> x{std::in_place, s, size};
  const fault_table calls;
  user->wait(s);
  gate held{*user};
  fill(*user, *x, 9u);
  user.reset();
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 0);
  x.reset();
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 1);
  EXPECT_TRUE(is_held(s));
  held.open();
  s.sync();
}

TEST_F(BufferUse, ABufferMayBeFreedOnAnotherStream) {
  buffer<std::uint32_t> x{s, size};
  gate held{s};
  fill(s, x, 3u);
  x.close(t);
  EXPECT_TRUE(x.closed());
  EXPECT_TRUE(is_held(t)) << "t waits for the work of the buffer's stream";
  held.open();
  t.sync();
}

TEST_F(BufferUse, SetStreamMakesTheNewStreamWaitForTheOldStream) {
  buffer<std::uint32_t> x{s, size};
  gate held{s};
  fill(s, x, 3u);
  x.set_stream(t);
  EXPECT_EQ(x.stream(), t.ref());
  EXPECT_TRUE(is_held(t));
  held.open();
  EXPECT_EQ(contents(t, x).front(), 3u);
}

// Afterwards the buffer belongs to the new stream, and the old stream counts as one that used it.
TEST_F(BufferUse, AfterSetStreamTheFreeWaitsForTheOldStream) {
  std::optional<buffer<std::uint32_t>> x{std::in_place, s, size};
  x->set_stream(t);
  gate held{s};
  fill(s, *x, 3u);
  x.reset();
  EXPECT_TRUE(is_held(t));
  held.open();
  t.sync();
}

// Buffers may belong to default streams. A per-thread default stream is another stream on each
// thread.
TEST_F(BufferUse, ABufferOfADefaultStreamIsFreedFromAnyThread) {
  const context_scope current{gpu};
  for (const stream_ref home : {stream_ref::legacy(), stream_ref::per_thread()}) {
    std::optional<buffer<std::uint32_t>> x{std::in_place, home, size};
    fill(home, *x, 6u);
    EXPECT_EQ(contents(home, *x).back(), 6u);
    const fault_table calls;
    std::thread{[&] { x.reset(); }}.join();  // on a thread without a current context
    EXPECT_EQ(calls.count(&driver_table::cuMemFreeAsync), 1);
    home.sync();
  }
}

// A fork creates new streams for each capture.
TEST_F(BufferUse, CapturesOfManyStreamsKeepOnlyStreamsInUse) {
  buffer<std::uint32_t> x{s, size};
  const fault_table calls;
  for (int i = 0; i < 100; ++i) {
    static_cast<void>(capture(s, [&] {
      stream_fork f{s, 2};
      fill(f[1], x, 1u);
      f.join();
    }));
  }
  drain_deferred();
  const int made = calls.count(&driver_table::cuStreamCreateWithPriority);
  EXPECT_GE(made, 100);
  EXPECT_LE(made - calls.count(&driver_table::cuStreamDestroy_v2), 10);
}

// The other device uses the buffer in a peer copy.
TEST_F(BufferUse, TheFreeWaitsForAStreamOfAnotherDevice) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  const stream other{device{1}};
  buffer<std::uint32_t> x{s, size};
  fill(s, x, 4u);
  buffer<std::uint32_t> y{other, size};
  other.wait(s);
  gate held{other};
  copy(other, x, y);
  x.close();
  EXPECT_TRUE(is_held(s));
  held.open();
  EXPECT_EQ(contents(other, y).back(), 4u);
  s.sync();
}

}  // namespace
}  // namespace weir
