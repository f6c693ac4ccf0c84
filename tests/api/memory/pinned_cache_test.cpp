// SPDX-License-Identifier: Apache-2.0
// pinned_cache_test.cpp - pinned memory is kept for the next buffer, within bounds.
#include "api/memory/pinned_cache.hpp"

#include <weir/capture/capture.hpp>
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>

#include <chrono>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/fault_table.hpp"
#include "support/fresh_process.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver;
using detail::driver_table;
using detail::fault_table;
using test::gate;
using test::share_hardware_queue;

class PinnedCache : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 1 << 12;
  static constexpr std::size_t mebibyte = std::size_t{1} << 20U;
  static constexpr std::size_t kept_mebibytes = detail::pinned_cache::max_bytes / mebibyte;

  PinnedCache() { drain_deferred(); }

  // Returns true when the driver has been called this often.
  static bool await_frees(const fault_table& calls, int count) {
    const auto enough = std::chrono::steady_clock::now() + std::chrono::minutes{1};
    while (calls.count(&driver_table::cuMemFreeHost) < count) {
      if (std::chrono::steady_clock::now() > enough) return false;
      std::this_thread::yield();
    }
    return true;
  }

  device gpu;
  stream s{gpu};
  stream t{gpu};
};

TEST_F(PinnedCache, ADestroyedBufferIsKeptForTheNextOne) {
  const fault_table calls;
  for (int i = 0; i < 100; ++i) {
    pinned_buffer<unsigned> x{size};
    fill(s, x, 1u);
    s.sync();
  }
  EXPECT_EQ(calls.count(&driver_table::cuMemHostAlloc), 1);
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 0);
  EXPECT_EQ(deferred_count(), 0u);
}

TEST_F(PinnedCache, ABufferMayGetABlockOfUpToTwiceItsSize) {
  { const pinned_buffer<char> x{10 * size}; }
  const fault_table calls;
  { const pinned_buffer<char> x{6 * size}; }
  EXPECT_EQ(calls.count(&driver_table::cuMemHostAlloc), 0);
  { const pinned_buffer<char> x{4 * size}; }
  EXPECT_EQ(calls.count(&driver_table::cuMemHostAlloc), 1);
  { const pinned_buffer<char> x{11 * size}; }
  EXPECT_EQ(calls.count(&driver_table::cuMemHostAlloc), 2);
}

TEST_F(PinnedCache, SmallBuffersShareBlocksOfAPage) {
  { const pinned_buffer<char> x{100}; }
  const fault_table calls;
  pinned_buffer<char> x{1};
  EXPECT_EQ(calls.count(&driver_table::cuMemHostAlloc), 0);
  EXPECT_EQ(x.size(), 1u);
}

TEST_F(PinnedCache, MemoryInUseIsNotReusedBeforeItsWorkIsDone) {
  const void* first = nullptr;
  gate held{s};
  {
    pinned_buffer<unsigned> x{size};
    first = x.data();
    fill(s, x, 1u);
  }
  EXPECT_EQ(deferred_count(), 1u);
  {
    const pinned_buffer<unsigned> y{size};
    EXPECT_NE(static_cast<const void*>(y.data()), first);
  }
  held.open();
  s.sync();
  EXPECT_EQ(deferred_count(), 0u);
  const pinned_buffer<unsigned> one{size};
  const pinned_buffer<unsigned> other{size};
  EXPECT_TRUE(one.data() == first || other.data() == first);
}

// Blocks of a stream that is held do not hide the blocks of other streams.
TEST_F(PinnedCache, MemoryIsReusedBesideAHeldStream) {
  if (share_hardware_queue(s, t)) GTEST_SKIP() << "the held stream would hold the other one";
  constexpr int held_blocks = 40;
  constexpr int rounds = 500;
  const fault_table calls;
  gate held{s};
  for (int i = 0; i < held_blocks; ++i) {
    pinned_buffer<unsigned> x{size};
    fill(s, x, 1u);
  }
  for (int i = 0; i < rounds; ++i) {
    gate in_use{t};
    {
      pinned_buffer<unsigned> x{size};
      fill(t, x, 1u);
    }
    in_use.open();
    t.sync();
  }
  EXPECT_LE(calls.count(&driver_table::cuMemHostAlloc), 2 * held_blocks);
  EXPECT_LE(deferred_count(), static_cast<std::size_t>(held_blocks));
  held.open();
}

TEST_F(PinnedCache, KeptMemoryIsBounded) {
  const fault_table calls;
  std::vector<pinned_buffer<char>> buffers;
  for (std::size_t i = 0; i < kept_mebibytes + 8; ++i) buffers.emplace_back(mebibyte);
  buffers.clear();
  EXPECT_TRUE(await_frees(calls, 8));
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), static_cast<int>(kept_mebibytes) + 8);
}

TEST_F(PinnedCache, ALargeBufferIsNotKept) {
  const fault_table calls;
  { const pinned_buffer<char> x{detail::pinned_cache::max_bytes + 1}; }
  EXPECT_TRUE(await_frees(calls, 1));
}

// A stream whose memory exceeds the bound is polled by the reclaimer thread.
TEST_F(PinnedCache, MemoryInUseIsBounded) {
  const fault_table calls;
  gate held{s};
  for (std::size_t i = 0; i < kept_mebibytes + 8; ++i) {
    pinned_buffer<char> x{mebibyte};
    fill(s, std::span{x.data(), 4}, 1);
    x.used_on(s);
  }
  EXPECT_EQ(deferred_count(), kept_mebibytes + 8);
  held.open();
  drain_deferred();
  EXPECT_EQ(deferred_count(), 0u);
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), static_cast<int>(kept_mebibytes) + 8);
}

// A driver frees pinned memory when the whole device is idle. No request waits for that.
TEST_F(PinnedCache, RequestsBesideABusyDeviceMakeNoBacklog) {
  if (share_hardware_queue(s, t)) GTEST_SKIP() << "the busy stream would hold the other one";
  drain_deferred();
  const fault_table calls;
  const gate busy{t};
  for (int i = 0; i < 1000; ++i) {
    const stream unused{gpu};
    pinned_buffer<unsigned> in{size};
    pinned_buffer<unsigned> out{size};
    copy(s, in, out);
    s.sync();
  }
  EXPECT_EQ(calls.count(&driver_table::cuMemHostAlloc), 2);
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 0);
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 1000);
  EXPECT_EQ(deferred_count(), 0u);
}

TEST_F(PinnedCache, MemoryDestroyedInAHostFunctionIsReused) {
  auto x = std::optional<pinned_buffer<unsigned>>{std::in_place, size};
  const void* const first = x->data();
  launch_host(s, [&] { x.reset(); });
  s.sync();
  const pinned_buffer<unsigned> y{size};
  EXPECT_EQ(static_cast<const void*>(y.data()), first);
}

// Allocating and freeing would break the capture, or wait for its end.
TEST_F(PinnedCache, MemoryIsReusedWhileACaptureIsOpen) {
  { const pinned_buffer<unsigned> x{size}; }
  const fault_table calls;
  const graph captured = capture(s, [&] {
    for (int i = 0; i < 100; ++i) {
      pinned_buffer<unsigned> x{size};
      fill(t, x, 1u);
      t.sync();
    }
  });
  EXPECT_EQ(captured.node_count(), 0u);
  EXPECT_EQ(calls.count(&driver_table::cuMemHostAlloc), 0);
  EXPECT_EQ(deferred_count(), 0u);
}

TEST_F(PinnedCache, MemoryOfACapturingStreamIsReusedAfterTheCapture) {
  const void* first = nullptr;
  const graph captured = capture(s, [&] {
    pinned_buffer<unsigned> x{size};
    first = x.data();
    fill(t, x, 1u);
    t.sync();
    fill(s, x, 2u);
    x = pinned_buffer<unsigned>{size};
    EXPECT_NE(static_cast<const void*>(x.data()), first);
  });
  EXPECT_EQ(captured.node_count(), 1u);
  drain_deferred();
  EXPECT_EQ(deferred_count(), 0u);
  EXPECT_EQ(pinned_buffer<unsigned>{size}.size(), size);
}

// cudaDeviceReset() frees what is kept.
TEST_F(PinnedCache, MemoryOfAResetContextIsNotReused) {
  test::in_a_fresh_process([] {
    const device gpu;
    { const pinned_buffer<unsigned> old{size}; }
    if (!WEIR_HOLDS(driver().cuDevicePrimaryCtxReset_v2(gpu.ordinal()) == abi::CUDA_SUCCESS))
      return false;
    if (!WEIR_HOLDS(gpu.primary_context().status() == errc::context_is_destroyed)) return false;
    pinned_buffer<unsigned> fresh{size};
    fresh[size - 1] = 5;
    return WEIR_HOLDS(fresh[size - 1] == 5u);
  });
}

TEST_F(PinnedCache, DrainingFreesWhatIsKept) {
  const fault_table calls;
  { const pinned_buffer<unsigned> x{size}; }
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 1);
  { const pinned_buffer<unsigned> x{size}; }
  EXPECT_EQ(calls.count(&driver_table::cuMemHostAlloc), 2);
}

}  // namespace
}  // namespace weir
