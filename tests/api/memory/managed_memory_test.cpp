// SPDX-License-Identifier: Apache-2.0
// managed_memory_test.cpp - managed memory: host and device access, prefetch, attach, advice,
// discard.
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/managed_buffer.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/foreign_capture.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::gate;
using test::result_of;

static_assert(!std::is_copy_constructible_v<managed_buffer<int>>);
static_assert(std::is_nothrow_move_constructible_v<managed_buffer<int>>);

// Read-only memory cannot be discarded.
template <class R>
concept can_discard = requires(stream_ref s, R& r) {
  discard(s, r);
};
static_assert(can_discard<managed_buffer<int>> && can_discard<std::span<int>> &&
              !can_discard<std::span<const int>>);

class ManagedMemory : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 1 << 12;

  void SetUp() override {
    if (gpu.attribute(device_attribute::concurrent_managed_access) == 0)
      GTEST_SKIP() << "no concurrent access";
  }

  // Calls the function while the stream captures, and expects that the capture stays valid.
  template <class Call>
  errc in_capture(Call&& call) {
    test::foreign_capture foreign{s, abi::CU_STREAM_CAPTURE_MODE_GLOBAL};
    const errc answer = result_of(call);
    EXPECT_TRUE(foreign.end());
    return answer;
  }

  device gpu;
  stream s{gpu};
  stream t{gpu};
};

TEST_F(ManagedMemory, TheHostAndDevicesShareTheArray) {
  managed_buffer<std::uint32_t> x{size};
  EXPECT_EQ(x.size(), size);
  EXPECT_EQ(x.size_bytes(), size * sizeof(std::uint32_t));
  std::iota(x.begin(), x.end(), 0u);
  buffer<std::uint32_t> y{s, size};
  copy(s, x, y);
  fill(s, x, 7u);
  s.sync();
  EXPECT_EQ(x[0], 7u);
  EXPECT_EQ(x[size - 1], 7u);
  copy(s, y, x);
  s.sync();
  const managed_buffer<std::uint32_t>& same = x;
  EXPECT_EQ(same[size - 1], size - 1);
  EXPECT_EQ(same.end() - same.begin(), static_cast<std::ptrdiff_t>(size));
}

TEST_F(ManagedMemory, AnEmptyBufferOwnsNothing) {
  managed_buffer<int> x{0};
  EXPECT_TRUE(x.empty());
  EXPECT_FALSE(x.closed());
  const fault_table calls;
  prefetch(s, x, gpu);
  discard(s, x);
  advise(x, memory_advice::read_mostly);
  attach(s, x, attachment::global);
  EXPECT_EQ(calls.count_all(), 0);
}

// Rule 164.
TEST_F(ManagedMemory, AnOversizedRequestThrowsOutOfMemory) {
  EXPECT_EQ(
      result_of([] { const managed_buffer<long> x{std::numeric_limits<std::size_t>::max()}; }),
      errc::out_of_memory);
  EXPECT_EQ(result_of([] {
              const managed_buffer<int> x{1, device{device::count()}};
            }),
            errc::invalid_device);
}

// Rule 158.
TEST_F(ManagedMemory, AClosedBufferThrowsClosed) {
  managed_buffer<std::uint32_t> x{size};
  x.close();
  x.close();
  EXPECT_TRUE(x.closed());
  EXPECT_EQ(x.data(), nullptr);
  EXPECT_EQ(result_of([&] { fill(s, x, 1u); }), errc::closed);
  EXPECT_EQ(result_of([&] { prefetch(s, x, gpu); }), errc::closed);
  EXPECT_EQ(result_of([&] { discard(s, x); }), errc::closed);
  EXPECT_EQ(result_of([&] { advise(x, memory_advice::read_mostly); }), errc::closed);
  EXPECT_EQ(result_of([&] { attach(s, x, attachment::global); }), errc::closed);
  EXPECT_EQ(result_of([&] { x.used_on(s); }), errc::closed);
}

TEST_F(ManagedMemory, StateOfReturnsTheAdvice) {
  managed_buffer<std::uint32_t> x{size};
  managed_state state = state_of(x);
  EXPECT_FALSE(state.read_mostly);
  EXPECT_FALSE(state.preferred_location);
  EXPECT_TRUE(state.accessed_by.empty());
  EXPECT_FALSE(state.accessed_by_host);
  EXPECT_FALSE(state.last_prefetch);

  advise(x, memory_advice::read_mostly);
  advise(x, memory_advice::preferred_location, gpu);
  advise(x, memory_advice::accessed_by, gpu);
  advise(x, memory_advice::accessed_by, memory_location::host());
  prefetch(s, x, gpu);
  s.sync();
  state = state_of(x);
  EXPECT_TRUE(state.read_mostly);
  EXPECT_EQ(state.preferred_location, memory_location{gpu});
  EXPECT_EQ(state.accessed_by, std::vector{gpu});
  EXPECT_TRUE(state.accessed_by_host);
  EXPECT_EQ(state.last_prefetch, memory_location{gpu});

  advise(x, memory_advice::preferred_location, memory_location::host());
  advise(x, memory_advice::not_accessed_by, gpu);
  prefetch(s, x, memory_location::host());
  s.sync();
  const managed_buffer<std::uint32_t>& same = x;
  state = state_of(same);
  EXPECT_EQ(state.preferred_location, memory_location::host());
  EXPECT_TRUE(state.accessed_by.empty());
  EXPECT_TRUE(state.accessed_by_host);
  EXPECT_EQ(state.last_prefetch, memory_location::host());
}

// Advice for a part of the memory is not reported for the whole.
TEST_F(ManagedMemory, StateOfReturnsOnlyAdviceForTheWholeRange) {
  constexpr std::size_t page = 1 << 16;
  managed_buffer<unsigned char> x{4 * page};
  const std::span<unsigned char> part{x.data(), page};
  advise(part, memory_advice::read_mostly);
  advise(part, memory_advice::preferred_location, gpu);
  EXPECT_TRUE(state_of(part).read_mostly);
  EXPECT_EQ(state_of(part).preferred_location, memory_location{gpu});
  EXPECT_FALSE(state_of(x).read_mostly);
  EXPECT_FALSE(state_of(x).preferred_location);
}

TEST_F(ManagedMemory, StateOfRefusesOtherMemory) {
  buffer<std::uint32_t> device_memory{s, size};
  EXPECT_EQ(result_of([&] { static_cast<void>(state_of(device_memory)); }), errc::invalid_value);
  managed_buffer<std::uint32_t> x{size};
  EXPECT_EQ(in_capture([&] { static_cast<void>(state_of(x)); }), errc::success);
  x.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(state_of(x)); }), errc::closed);
  const fault_table calls;
  EXPECT_FALSE(state_of(managed_buffer<int>{0}).last_prefetch);
  EXPECT_EQ(calls.count(&driver_table::cuMemRangeGetAttributes), 0);
}

// Like pinned memory: freed when the work that uses it is done, and the destructor does not wait.
TEST_F(ManagedMemory, ABufferInUseIsFreedWhenItsWorkIsDone) {
  const fault_table calls;
  std::optional<managed_buffer<std::uint32_t>> x{std::in_place, size};
  pinned_buffer<std::uint32_t> host{size};
  fill(s, *x, 8u);
  gate held{s};
  copy(s, *x, host);
  x.reset();
  EXPECT_EQ(calls.count(&driver_table::cuMemFree_v2), 0);
  held.open();
  s.sync();
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuMemFree_v2), 1);
  EXPECT_EQ(host[size - 1], 8u);
}

TEST_F(ManagedMemory, PrefetchingKeepsTheContents) {
  managed_buffer<std::uint32_t> x{size};
  std::iota(x.begin(), x.end(), 0u);
  for (const memory_location to :
       {memory_location{gpu}, memory_location::host(), memory_location::host_node(0),
        memory_location::current_host_node()}) {
    prefetch(s, x, to);
    prefetch(s, std::span{x.data(), 10}, to);
    s.sync();
    EXPECT_EQ(x[size - 1], size - 1);
  }
}

TEST_F(ManagedMemory, ManyRangesArePrefetchedInOneCall) {
  managed_buffer<std::uint32_t> x{size};
  managed_buffer<std::uint32_t> y{size};
  for (std::uint32_t& n : x) n = 1;
  for (std::uint32_t& n : y) n = 2;
  const std::array<std::span<std::uint32_t>, 3> ranges{
      std::span{x.data(), size}, {}, std::span{y.data(), size}};
  const fault_table calls;
  prefetch_each(s, ranges, gpu);
  EXPECT_EQ(calls.count(&driver_table::cuMemPrefetchBatchAsync), 1);
  const std::array<memory_location, 3> locations{memory_location{gpu}, memory_location{gpu},
                                                 memory_location::host()};
  prefetch_each(s, ranges, locations);
  s.sync();
  EXPECT_EQ(x[0], 1u);
  EXPECT_EQ(y[size - 1], 2u);
  EXPECT_EQ(result_of([&] { prefetch_each(s, ranges, std::span{locations}.first(2)); }),
            errc::invalid_value);
}

TEST_F(ManagedMemory, DiscardedMemoryCanBeWrittenAgain) {
  managed_buffer<std::uint32_t> x{size};
  managed_buffer<std::uint32_t> y{size};
  const std::array<std::span<std::uint32_t>, 2> ranges{std::span{x.data(), size},
                                                       std::span{y.data(), size}};
  discard(s, x);
  discard_each(s, ranges);
  discard_and_prefetch(s, x, gpu);
  fill(s, x, 5u);
  prefetch(s, x, memory_location::host());
  s.sync();
  EXPECT_EQ(x[size - 1], 5u);
}

// A driver before CUDA 13 has no batches, and one before CUDA 12.2 has the older prefetch.
TEST_F(ManagedMemory, OlderDriversPrefetchOneByOne) {
  managed_buffer<std::uint32_t> x{size};
  managed_buffer<std::uint32_t> y{size};
  const std::array<std::span<std::uint32_t>, 2> ranges{std::span{x.data(), size},
                                                       std::span{y.data(), size}};
  fault_table faults;
  constexpr auto missing = abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER;
  faults.fail_from(&driver_table::cuMemPrefetchBatchAsync, 1, missing);
  faults.fail_from(&driver_table::cuMemDiscardBatchAsync, 1, missing);
  prefetch_each(s, ranges, gpu);
  EXPECT_EQ(faults.count(&driver_table::cuMemPrefetchAsync_v2), 2);
  EXPECT_EQ(result_of([&] { discard(s, x); }), errc::call_requires_newer_driver);

  faults.fail_from(&driver_table::cuMemPrefetchAsync_v2, 1, missing);
  prefetch(s, x, gpu);
  prefetch(s, x, memory_location::host());
  EXPECT_EQ(faults.count(&driver_table::cuMemPrefetchAsync), 2);
  EXPECT_EQ(result_of([&] { prefetch(s, x, memory_location::host_node(0)); }),
            errc::call_requires_newer_driver);
  s.sync();
}

// The capture stays valid.
TEST_F(ManagedMemory, ACaptureRefusesPrefetchesAndDiscards) {
  managed_buffer<std::uint32_t> x{size};
  const std::array<std::span<std::uint32_t>, 1> ranges{std::span{x.data(), size}};
  constexpr errc refused = errc::stream_capture_unsupported;
  EXPECT_EQ(in_capture([&] { prefetch(s, x, gpu); }), refused);
  EXPECT_EQ(in_capture([&] { prefetch_each(s, ranges, gpu); }), refused);
  EXPECT_EQ(in_capture([&] { discard(s, x); }), refused);
  EXPECT_EQ(in_capture([&] { discard_and_prefetch(s, x, gpu); }), refused);
  EXPECT_EQ(in_capture([&] { attach(s, x, attachment::global); }), refused);
  EXPECT_EQ(in_capture([&] { advise(x, memory_advice::read_mostly); }), errc::success);
  EXPECT_EQ(in_capture([&] { attach(t, x, attachment::global); }), errc::success);
  t.sync();
}

TEST_F(ManagedMemory, TheLegacyStreamRefusesBatches) {
  const context_scope current{gpu};
  managed_buffer<std::uint32_t> x{size};
  const fault_table calls;
  EXPECT_EQ(result_of([&] { discard(stream_ref::legacy(), x); }), errc::invalid_value);
  EXPECT_EQ(calls.count(&driver_table::cuMemDiscardBatchAsync), 0);
  prefetch(stream_ref::legacy(), x, gpu);  // a single prefetch is no batch
  stream_ref::legacy().sync();
}

TEST_F(ManagedMemory, AdviceIsSetAndUnset) {
  managed_buffer<std::uint32_t> x{size};
  advise(x, memory_advice::read_mostly);
  advise(x, memory_advice::not_read_mostly);
  for (const memory_location location : {memory_location{gpu}, memory_location::host()}) {
    advise(x, memory_advice::preferred_location, location);
    advise(x, memory_advice::no_preferred_location, location);
    advise(x, memory_advice::accessed_by, location);
    advise(x, memory_advice::not_accessed_by, location);
  }
  x[0] = 1;
  EXPECT_EQ(x[0], 1u);
}

TEST_F(ManagedMemory, MemoryIsAttachedInStreamOrder) {
  managed_buffer<std::uint32_t> x{size, gpu, attachment::host};
  x[0] = 1;
  attach(s, x, attachment::stream);
  fill(s, x, 2u);
  attach(s, x, attachment::host);
  s.sync();
  EXPECT_EQ(x[0], 2u);
  attach(s, x, attachment::global);
  s.sync();
  EXPECT_EQ(result_of([&] {
              attach(s, std::span{x.data() + 1, 1}, attachment::global);
            }),
            errc::invalid_value)
      << "only a whole allocation can be attached";
}

TEST_F(ManagedMemory, OtherMemoryIsRefused) {
  pinned_buffer<std::uint32_t> pinned{size};
  buffer<std::uint32_t> x{s, size};
  EXPECT_EQ(result_of([&] { prefetch(s, x, gpu); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { discard(s, pinned); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { advise(pinned, memory_advice::read_mostly); }), errc::invalid_value);
}

}  // namespace
}  // namespace weir
