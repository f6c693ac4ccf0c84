// SPDX-License-Identifier: Apache-2.0
// memory_pool_test.cpp - memory pools: allocation and ownership.
#include <weir/core/deferred.hpp>
#include <weir/core/to_string.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/memory_pool.hpp>
#include <weir/stream/host_function.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "api/core/call_restrictions.hpp"
#include "support/device_copy.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::contents;
using test::result_of;

static_assert(!std::is_copy_constructible_v<memory_pool> &&
              std::is_nothrow_move_constructible_v<memory_pool>);
static_assert(!std::is_default_constructible_v<memory_pool>);
static_assert(std::is_convertible_v<const memory_pool&, memory_pool_ref>);

class MemoryPool : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 1 << 14;

  device gpu;
  stream s{gpu};
  stream t{gpu};
};

TEST_F(MemoryPool, APoolAllocatesAndFreesInStreamOrder) {
  const memory_pool pool{gpu};
  void* const memory = pool.allocate(s, size * sizeof(std::uint32_t));
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0u);
  const std::span<std::uint32_t> words{static_cast<std::uint32_t*>(memory), size};
  fill(s, words, 7u);
  std::vector<std::uint32_t> host(size);
  copy(s, words, host);
  pool.deallocate(s, memory);
  s.sync();
  EXPECT_EQ(host, std::vector<std::uint32_t>(size, 7u));
  EXPECT_EQ(pool.device(), gpu);
}

TEST_F(MemoryPool, AnAllocationOfZeroBytesReturnsNull) {
  const memory_pool pool{gpu};
  void* const nothing = pool.allocate(s, 0);
  EXPECT_EQ(nothing, nullptr);
  const fault_table calls;
  pool.deallocate(s, nothing);
  EXPECT_EQ(calls.count_all(), 0);
}

TEST_F(MemoryPool, ABufferIsAllocatedFromAPool) {
  const memory_pool pool{gpu};
  const fault_table calls;
  buffer<std::uint32_t> x{pool, s, size};
  EXPECT_EQ(calls.count(&driver_table::cuMemAllocFromPoolAsync), 1);
  EXPECT_EQ(calls.count(&driver_table::cuMemAllocAsync), 0);
  EXPECT_EQ(x.stream(), s.ref());
  EXPECT_GE(pool.usage().used, size * sizeof(std::uint32_t));
  fill(s, x, 5u);
  EXPECT_EQ(contents(s, x), std::vector<std::uint32_t>(size, 5u));
  x.close();
  EXPECT_EQ(pool.usage().used, 0u);
  const buffer<std::uint32_t> empty{pool, s, 0};
  EXPECT_EQ(empty.data(), nullptr);
}

// A pool may be destroyed before its memory, which stays valid.
TEST_F(MemoryPool, MemoryOutlivesItsPool) {
  std::optional<memory_pool> pool{std::in_place, gpu};
  buffer<std::uint32_t> x{*pool, s, size};
  pool.reset();
  fill(s, x, 9u);
  EXPECT_EQ(contents(s, x).back(), 9u);
}

TEST_F(MemoryPool, AClosedPoolThrowsClosed) {
  memory_pool pool{gpu};
  pool.close();
  pool.close();
  EXPECT_TRUE(pool.closed());
  EXPECT_EQ(result_of([&] { static_cast<void>(pool.allocate(s, size)); }), errc::closed);
  EXPECT_EQ(result_of([&] { const buffer<int> x{pool, s, size}; }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(pool.release_threshold()); }), errc::closed);
  EXPECT_EQ(result_of([&] { pool.set_release_threshold(1); }), errc::closed);
  EXPECT_EQ(result_of([&] { pool.trim(); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(pool.reuse()); }), errc::closed);
  EXPECT_EQ(result_of([&] { pool.set_reuse({}); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(pool.usage()); }), errc::closed);
  EXPECT_EQ(result_of([&] { pool.reset_high_watermarks(); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(pool.access(gpu)); }), errc::closed);
  EXPECT_EQ(result_of([&] { pool.set_access(gpu, pool_access::read_write); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(pool.release()); }), errc::closed);
  EXPECT_EQ(result_of([&] { set_current_memory_pool(pool); }), errc::closed);
  EXPECT_EQ(to_string(pool), "closed memory pool");
  EXPECT_EQ(pool.device(), gpu);
}

TEST_F(MemoryPool, AClosedStreamGetsNoMemory) {
  const memory_pool pool{gpu};
  stream gone{gpu};
  gone.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(pool.allocate(gone, size)); }), errc::closed);
  EXPECT_EQ(result_of([&] { pool.deallocate(gone, nullptr); }), errc::closed);
}

TEST_F(MemoryPool, MovingMakesNoDriverCall) {
  memory_pool pool{gpu};
  CUmemPoolHandle_st* const handle = pool.get();
  const fault_table calls;
  memory_pool moved = std::move(pool);
  EXPECT_TRUE(pool.closed());  // NOLINT(bugprone-use-after-move): what a moved-from one answers
  EXPECT_EQ(moved.get(), handle);
  pool = std::move(moved);
  EXPECT_EQ(pool.get(), handle);
  EXPECT_EQ(calls.count_all(), 0);
}

TEST_F(MemoryPool, AssigningDestroysTheEarlierPool) {
  memory_pool pool{gpu};
  const fault_table calls;
  pool = memory_pool{gpu};
  EXPECT_EQ(calls.count(&driver_table::cuMemPoolDestroy), 1);
}

TEST_F(MemoryPool, AdoptTakesOwnershipAndReleaseGivesItUp) {
  memory_pool pool{gpu};
  CUmemPoolHandle_st* const handle = pool.release();
  EXPECT_TRUE(pool.closed());
  const fault_table calls;
  {
    const memory_pool again = memory_pool::adopt(handle, gpu);
    EXPECT_EQ(again.ref(), (memory_pool_ref{handle, gpu}));
  }
  EXPECT_EQ(calls.count(&driver_table::cuMemPoolDestroy), 1);
  EXPECT_EQ(result_of([&] { static_cast<void>(memory_pool::adopt(nullptr, gpu)); }),
            errc::invalid_value);
}

// Rules 75 and 115.
TEST_F(MemoryPool, DestructionIsDeferredInHostFunctionsAndCaptures) {
  const fault_table calls;
  std::optional<memory_pool> inside{std::in_place, gpu};
  std::optional<memory_pool> captured{std::in_place, gpu};
  launch_host(s, [&] { inside.reset(); });
  s.sync();
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuMemPoolDestroy), 1);
  {
    const detail::scoped_active_capture capture;
    captured.reset();
    EXPECT_EQ(calls.count(&driver_table::cuMemPoolDestroy), 1);
  }
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuMemPoolDestroy), 2);
}

TEST_F(MemoryPool, HostFunctionsMayNotAllocateOrCreatePools) {
  const memory_pool pool{gpu};
  errc allocating = errc::success, making = errc::success;
  launch_host(s, [&] {
    allocating = result_of([&] { static_cast<void>(pool.allocate(t, size)); });
    making = result_of([&] { const memory_pool another{gpu}; });
  });
  s.sync();
  EXPECT_EQ(allocating, errc::not_permitted);
  EXPECT_EQ(making, errc::not_permitted);
}

TEST_F(MemoryPool, AnInvalidDeviceHasNoPool) {
  const device none{device::count()};
  EXPECT_EQ(result_of([&] { const memory_pool pool{none}; }), errc::invalid_device);
  EXPECT_EQ(result_of([&] { static_cast<void>(default_memory_pool(none)); }), errc::invalid_device);
  EXPECT_EQ(result_of([&] { static_cast<void>(current_memory_pool(none)); }), errc::invalid_device);
}

TEST_F(MemoryPool, TheTextOfAPoolNamesItsDevice) {
  const memory_pool pool{gpu};
  EXPECT_EQ(to_string(pool).rfind("memory pool 0x", 0), 0u);
  EXPECT_NE(to_string(pool).find("(device 0)"), std::string::npos);
}

}  // namespace
}  // namespace weir
