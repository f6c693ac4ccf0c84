// SPDX-License-Identifier: Apache-2.0
// pinned_buffer_test.cpp - pinned memory: a host array that is freed when no copy uses it.
#include <weir/core/deferred.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include "support/device_copy.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"
#include "support/gate_opener.hpp"

namespace weir {
namespace {

using detail::driver;
using detail::driver_table;
using detail::fault_table;
using test::contents;
using test::gate;
using test::gate_opener;
using test::result_of;

static_assert(!std::is_copy_constructible_v<pinned_buffer<int>>);
static_assert(std::is_nothrow_move_constructible_v<pinned_buffer<int>>);

class PinnedBuffer : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 1 << 12;

  // The reclaimer begins deferred tasks in order: when a later one is done, all earlier ones have
  // been tried.
  void let_deferred_begin(const fault_table& calls) {
    const stream other{gpu};
    const int before = calls.count(&driver_table::cuEventDestroy_v2);
    launch_host_once(other, [mark = event{gpu}] {});  // owns an object, so its end is deferred
    other.sync();
    const auto enough = std::chrono::steady_clock::now() + std::chrono::minutes{1};
    const auto has_begun = [&] {
      return calls.count(&driver_table::cuEventDestroy_v2) > before && deferred_count() <= 1;
    };
    while (!has_begun() && std::chrono::steady_clock::now() < enough) std::this_thread::yield();
    EXPECT_TRUE(has_begun());
  }

  device gpu;
  stream s{gpu};
};

TEST_F(PinnedBuffer, TheHostUsesABufferAsAnArray) {
  pinned_buffer<int> x{size};
  EXPECT_EQ(x.size(), size);
  EXPECT_EQ(x.size_bytes(), size * sizeof(int));
  std::iota(x.begin(), x.end(), 0);
  EXPECT_EQ(x[size - 1], static_cast<int>(size) - 1);
  EXPECT_EQ(x.end() - x.begin(), static_cast<std::ptrdiff_t>(size));
  const pinned_buffer<int>& same = x;
  EXPECT_EQ(&same[1], x.data() + 1);
  EXPECT_EQ(std::accumulate(same.begin(), same.end(), 0L),
            static_cast<long>(size * (size - 1) / 2));
}

TEST_F(PinnedBuffer, DevicesAccessABufferDirectly) {
  pinned_buffer<std::uint32_t> x{size};
  fill(s, x, 11u);
  s.sync();
  EXPECT_EQ(x[0], 11u);
  EXPECT_EQ(x[size - 1], 11u);
}

TEST_F(PinnedBuffer, AllDevicesMayUseABuffer) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  pinned_buffer<std::uint32_t> x{size, device{0}};
  const stream other{device{1}};
  fill(other, x, 12u);
  other.sync();
  EXPECT_EQ(x[size - 1], 12u);
}

TEST_F(PinnedBuffer, AnEmptyBufferOwnsNothing) {
  pinned_buffer<int> x{0};
  EXPECT_TRUE(x.empty());
  EXPECT_FALSE(x.closed());
  EXPECT_EQ(x.begin(), x.end());
}

// Rule 164.
TEST_F(PinnedBuffer, AnOversizedRequestThrowsOutOfMemory) {
  EXPECT_EQ(result_of([] { const pinned_buffer<long> x{std::numeric_limits<std::size_t>::max()}; }),
            errc::out_of_memory);
  EXPECT_EQ(result_of([] { const pinned_buffer<long> x{std::size_t{1} << 50}; }),
            errc::out_of_memory);
}

TEST_F(PinnedBuffer, AnInvalidDeviceIsAnError) {
  EXPECT_EQ(result_of([] {
              const pinned_buffer<int> x{1, device{device::count()}};
            }),
            errc::invalid_device);
}

// Rule 158.
TEST_F(PinnedBuffer, AClosedBufferThrowsClosed) {
  pinned_buffer<std::uint32_t> x{size};
  pinned_buffer<std::uint32_t> y{size};
  x.close();
  x.close();
  EXPECT_TRUE(x.closed());
  EXPECT_EQ(x.data(), nullptr);
  EXPECT_EQ(x.size(), 0u);
  EXPECT_EQ(result_of([&] { copy(s, x, y); }), errc::closed);
  EXPECT_EQ(result_of([&] { copy(s, y, x); }), errc::closed);
  EXPECT_EQ(result_of([&] { fill(s, x, 1u); }), errc::closed);
  EXPECT_EQ(result_of([&] { x.used_on(s); }), errc::closed);
}

TEST_F(PinnedBuffer, MovingMakesNoDriverCall) {
  pinned_buffer<int> x{size};
  x[5] = 55;
  const fault_table calls;
  pinned_buffer<int> y = std::move(x);
  EXPECT_TRUE(x.closed());  // NOLINT(bugprone-use-after-move): what a moved-from one answers
  EXPECT_EQ(y[5], 55);
  x = std::move(y);
  EXPECT_EQ(x[5], 55);
  EXPECT_EQ(calls.count_all(), 0);
}

// Destroying the buffer during a copy does not block, and the memory stays until the copy is done.
TEST_F(PinnedBuffer, ABufferInUseIsFreedWhenItsCopiesAreDone) {
  drain_deferred();
  buffer<std::uint32_t> x{s, size};
  const fault_table calls;
  gate held{s};
  {
    pinned_buffer<std::uint32_t> source{size};
    std::ranges::fill(source, 77u);
    copy(s, source, x);
  }  // returns without blocking
  EXPECT_FALSE(s.done());
  let_deferred_begin(calls);
  EXPECT_EQ(deferred_count(), 1u);
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 0);
  held.open();
  drain_deferred();
  EXPECT_EQ(deferred_count(), 0u);
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 1);
  EXPECT_EQ(contents(s, x), std::vector<std::uint32_t>(size, 77u));
}

// Its destructor blocks until the flag is set.
struct keeper {
  std::atomic<bool>* go_on;
  explicit keeper(std::atomic<bool>& flag) : go_on{&flag} {}
  keeper(keeper&& other) noexcept : go_on{std::exchange(other.go_on, nullptr)} {}
  keeper& operator=(keeper&&) = delete;
  ~keeper() {
    while (go_on != nullptr && !*go_on) std::this_thread::yield();
  }
};

// A driver may wait for the whole device in cuMemFreeHost, so another thread calls it.
TEST_F(PinnedBuffer, AnIdleBufferIsFreedByAnotherThread) {
  const fault_table calls;
  std::atomic<bool> go_on{false};
  launch_host_once(s, [kept = keeper{go_on}] {});  // keeps the reclaimer thread busy
  s.sync();
  { const pinned_buffer<int> x{size}; }
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 0);
  go_on = true;
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 1);
}

TEST_F(PinnedBuffer, ClosingABufferWaitsForItsCopies) {
  pinned_buffer<std::uint32_t> source{size};
  std::ranges::fill(source, 78u);
  buffer<std::uint32_t> x{s, size};
  gate held{s};
  copy(s, source, x);
  const event behind = s.record();
  {
    const gate_opener open_when_asked{held, &driver_table::cuStreamSynchronize};
    source.close();
    EXPECT_TRUE(source.closed());
    EXPECT_TRUE(behind.done());
  }
  EXPECT_EQ(contents(s, x).back(), 78u);
}

// used_on() reports work that weir did not queue.
TEST_F(PinnedBuffer, UsedOnCoversForeignWork) {
  drain_deferred();
  buffer<std::uint32_t> x{s, size};
  const fault_table calls;
  gate held{s};
  {
    pinned_buffer<std::uint32_t> source{size};
    std::ranges::fill(source, 79u);
    ASSERT_EQ(driver().cuMemcpyAsync(reinterpret_cast<std::uintptr_t>(x.data()),
                                     reinterpret_cast<std::uintptr_t>(source.data()),
                                     source.size_bytes(), s.get()),
              abi::CUDA_SUCCESS);
    source.used_on(s);
  }
  let_deferred_begin(calls);
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 0);
  held.open();
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 1);
  EXPECT_EQ(contents(s, x).back(), 79u);
}

}  // namespace
}  // namespace weir
