// memory_pool_test.cpp - pools: what comes from them, what they keep, who may use it, and the one a device uses.
#include <weir/buffer.hpp>
#include <weir/context.hpp>
#include <weir/copy.hpp>
#include <weir/deferred.hpp>
#include <weir/fill.hpp>
#include <weir/host_function.hpp>
#include <weir/memory_pool.hpp>
#include <weir/to_string.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "api/guard.hpp"
#include "driver/failing.hpp"
#include "support/device_copy.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"
#include "support/opener.hpp"

namespace weir {
namespace {

using detail::driver;
using detail::driver_table;
using detail::failing_table;
using test::contents;
using test::failure_of;
using test::gate;
using test::opener;
using test::result_of;

static_assert(!std::is_copy_constructible_v<memory_pool> && std::is_nothrow_move_constructible_v<memory_pool>);
static_assert(!std::is_default_constructible_v<memory_pool>);
static_assert(std::is_convertible_v<const memory_pool&, memory_pool_ref>);

class MemoryPool : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 1 << 14;
  static constexpr std::size_t mebibyte = 1 << 20;

  // A pool that runs out soon, and gives nothing to other streams before it is free.
  static memory_pool_options small() {
    return {.max_size = 64 * mebibyte,
            .reuse = {.follow_event_dependencies = false, .opportunistic = false, .internal_dependencies = false}};
  }

  device gpu;
  stream s{gpu};
  stream t{gpu};
};

TEST_F(MemoryPool, GivesMemoryInStreamOrder) {
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

TEST_F(MemoryPool, NoBytesAreNoMemory) {
  const memory_pool pool{gpu};
  void* const nothing = pool.allocate(s, 0);
  EXPECT_EQ(nothing, nullptr);
  const failing_table calls;
  pool.deallocate(s, nothing);
  EXPECT_EQ(calls.count_all(), 0);
}

TEST_F(MemoryPool, ABufferComesFromIt) {
  const memory_pool pool{gpu};
  const failing_table calls;
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

// It may go before its memory, which works on.
TEST_F(MemoryPool, MemoryOutlivesItsPool) {
  std::optional<memory_pool> pool{std::in_place, gpu};
  buffer<std::uint32_t> x{*pool, s, size};
  pool.reset();
  fill(s, x, 9u);
  EXPECT_EQ(contents(s, x).back(), 9u);
}

// What is kept.

TEST_F(MemoryPool, KeepsWhatItIsToldToKeep) {
  const memory_pool pool{gpu, {.release_threshold = keep_all}};
  EXPECT_EQ(pool.release_threshold(), keep_all);
  { const buffer<char> x{pool, s, mebibyte}; }
  s.sync();
  EXPECT_GE(pool.usage().reserved, mebibyte);
  pool.trim(1);
  EXPECT_GE(pool.usage().reserved, 1u);
  pool.trim();
  EXPECT_EQ(pool.usage().reserved, 0u);
}

TEST_F(MemoryPool, KeepsNothingAtFirst) {
  const memory_pool pool{gpu};
  EXPECT_EQ(pool.release_threshold(), 0u);
  { const buffer<char> x{pool, s, mebibyte}; }
  s.sync();
  EXPECT_EQ(pool.usage().reserved, 0u);
  pool.set_release_threshold(16 * mebibyte);
  EXPECT_EQ(pool.release_threshold(), 16 * mebibyte);
}

TEST_F(MemoryPool, TrimmingLeavesWhatIsInUse) {
  const memory_pool pool{gpu};
  buffer<std::uint32_t> x{pool, s, size};
  fill(s, x, 1u);
  pool.trim();
  EXPECT_GE(pool.usage().reserved, x.size_bytes());
  EXPECT_EQ(contents(s, x).back(), 1u);
}

TEST_F(MemoryPool, CountsWhatIsUsedAndTheMostOfIt) {
  const memory_pool pool{gpu, {.release_threshold = keep_all}};
  EXPECT_EQ(pool.usage().used, 0u);
  EXPECT_EQ(pool.usage().reserved_high, 0u);
  { const buffer<char> x{pool, s, mebibyte}; }
  s.sync();
  const pool_usage after = pool.usage();
  EXPECT_EQ(after.used, 0u);
  EXPECT_GE(after.used_high, mebibyte);
  EXPECT_EQ(after.reserved_high, after.reserved);
  pool.trim();
  pool.reset_high_marks();
  EXPECT_EQ(pool.usage().used_high, 0u);
  EXPECT_EQ(pool.usage().reserved_high, 0u);
}

TEST_F(MemoryPool, TheRulesOfReuseAreOnUnlessTurnedOff) {
  const memory_pool pool{gpu};
  EXPECT_EQ(pool.reuse(), pool_reuse{});
  for (const pool_reuse rules : {pool_reuse{.follow_event_dependencies = false}, pool_reuse{.opportunistic = false},
                                 pool_reuse{.internal_dependencies = false}}) {
    pool.set_reuse(rules);
    EXPECT_EQ(pool.reuse(), rules);
    EXPECT_EQ((memory_pool{gpu, {.reuse = rules}}.reuse()), rules);
  }
}

TEST_F(MemoryPool, MemoryOfAQueuedFreeGoesToNoOtherStream) {
  const memory_pool pool{gpu, small()};
  gate held{s};
  void* const first = pool.allocate(s, mebibyte);
  pool.deallocate(s, first);
  void* const second = pool.allocate(t, mebibyte);
  EXPECT_NE(first, second);
  pool.deallocate(t, second);
  t.sync();
  held.open();
  s.sync();
}

// Running out.

TEST_F(MemoryPool, TooMuchIsRefusedAsOutOfMemory) {
  const memory_pool pool{gpu, small()};
  const auto failure = failure_of([&] { static_cast<void>(pool.allocate(s, 128 * mebibyte)); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::out_of_memory);
  EXPECT_STREQ(failure->call(), "cuMemAllocFromPoolAsync");
  EXPECT_EQ(failure->object(), to_string(pool));
  EXPECT_NE(failure->advice().find("retrying()"), std::string::npos);
  EXPECT_EQ(result_of([&] { const buffer<char> x{pool, s, 128 * mebibyte}; }), errc::out_of_memory);
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(result_of([&] { const buffer<std::uint64_t> x{pool, s, most / 4}; }), errc::out_of_memory);
  const buffer<char> small_one{pool, s, 16};  // the pool is as good as before
  s.sync();
}

TEST_F(MemoryPool, APatientOneWaitsForQueuedFrees) {
  const memory_pool pool{gpu, small()};
  gate held{s};
  pool.deallocate(s, pool.allocate(s, 40 * mebibyte));
  EXPECT_EQ(result_of([&] { static_cast<void>(pool.allocate(t, 40 * mebibyte)); }), errc::out_of_memory);
  {
    const opener opens{held, &driver_table::cuCtxSynchronize};
    const buffer<char> x{pool.retrying(), t, 40 * mebibyte};
    EXPECT_NE(x.data(), nullptr);
  }
  t.sync();
  s.sync();
}

TEST_F(MemoryPool, PatienceHasAnEnd) {
  const memory_pool pool{gpu, small()};
  EXPECT_EQ(pool.ref().retries(), 0);
  const failing_table calls;
  EXPECT_EQ(result_of([&] { static_cast<void>(pool.retrying(2).allocate(s, 128 * mebibyte)); }), errc::out_of_memory);
  EXPECT_EQ(calls.count(&driver_table::cuMemAllocFromPoolAsync), 3);
  EXPECT_EQ(calls.count(&driver_table::cuMemPoolTrimTo), 2);
}

// Owning.

TEST_F(MemoryPool, AClosedOneSaysSoToEveryUse) {
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
  EXPECT_EQ(result_of([&] { pool.reset_high_marks(); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(pool.access(gpu)); }), errc::closed);
  EXPECT_EQ(result_of([&] { pool.set_access(gpu, pool_access::read_write); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(pool.release()); }), errc::closed);
  EXPECT_EQ(result_of([&] { use(pool); }), errc::closed);
  EXPECT_EQ(to_string(pool), "closed memory pool");
  EXPECT_EQ(pool.device(), gpu);
}

TEST_F(MemoryPool, AClosedStreamGetsNothing) {
  const memory_pool pool{gpu};
  stream gone{gpu};
  gone.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(pool.allocate(gone, size)); }), errc::closed);
  EXPECT_EQ(result_of([&] { pool.deallocate(gone, nullptr); }), errc::closed);
}

TEST_F(MemoryPool, MovingTouchesNoDevice) {
  memory_pool pool{gpu};
  CUmemPoolHandle_st* const handle = pool.get();
  const failing_table calls;
  memory_pool moved = std::move(pool);
  EXPECT_TRUE(pool.closed());  // NOLINT(bugprone-use-after-move): what a moved-from one answers
  EXPECT_EQ(moved.get(), handle);
  pool = std::move(moved);
  EXPECT_EQ(pool.get(), handle);
  EXPECT_EQ(calls.count_all(), 0);
}

TEST_F(MemoryPool, AssigningDestroysWhatWasThere) {
  memory_pool pool{gpu};
  const failing_table calls;
  pool = memory_pool{gpu};
  EXPECT_EQ(calls.count(&driver_table::cuMemPoolDestroy), 1);
}

TEST_F(MemoryPool, AdoptingTakesOverAndReleasingGivesUp) {
  memory_pool pool{gpu};
  CUmemPoolHandle_st* const handle = pool.release();
  EXPECT_TRUE(pool.closed());
  const failing_table calls;
  {
    const memory_pool again = memory_pool::adopt(handle, gpu);
    EXPECT_EQ(again.ref(), (memory_pool_ref{handle, gpu}));
  }
  EXPECT_EQ(calls.count(&driver_table::cuMemPoolDestroy), 1);
  EXPECT_EQ(result_of([&] { static_cast<void>(memory_pool::adopt(nullptr, gpu)); }), errc::invalid_value);
}

// Rule 75, and 115.
TEST_F(MemoryPool, DestructionWaitsForABetterMoment) {
  const failing_table calls;
  std::optional<memory_pool> inside{std::in_place, gpu};
  std::optional<memory_pool> captured{std::in_place, gpu};
  launch_host(s, [&] { inside.reset(); });
  s.sync();
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuMemPoolDestroy), 1);
  {
    const detail::capture_mark capture;
    captured.reset();
    EXPECT_EQ(calls.count(&driver_table::cuMemPoolDestroy), 1);
  }
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuMemPoolDestroy), 2);
}

TEST_F(MemoryPool, InAHostFunctionItIsRefused) {
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

TEST_F(MemoryPool, ADeviceThatIsNotThereHasNone) {
  const device none{device::count()};
  EXPECT_EQ(result_of([&] { const memory_pool pool{none}; }), errc::invalid_device);
  EXPECT_EQ(result_of([&] { static_cast<void>(default_memory_pool(none)); }), errc::invalid_device);
  EXPECT_EQ(result_of([&] { static_cast<void>(current_memory_pool(none)); }), errc::invalid_device);
}

TEST_F(MemoryPool, AsText) {
  const memory_pool pool{gpu};
  EXPECT_EQ(to_string(pool).rfind("memory pool 0x", 0), 0u);
  EXPECT_NE(to_string(pool).find("(device 0)"), std::string::npos);
}

// The pools of a device.

TEST_F(MemoryPool, TheDevicesOwnIsItsCurrentOneAtFirst) {
  EXPECT_EQ(default_memory_pool(gpu), current_memory_pool(gpu));
  EXPECT_EQ(default_memory_pool(gpu).device(), gpu);
  const buffer<char> x{default_memory_pool(gpu), s, mebibyte};
  EXPECT_GE(default_memory_pool(gpu).usage().used, mebibyte);
}

TEST_F(MemoryPool, AScopeMakesItTheDevicesAndRestoresWhatWas) {
  const memory_pool outer{gpu};
  const memory_pool inner{gpu};
  const memory_pool_ref before = current_memory_pool(gpu);
  {
    const memory_pool_scope first{outer};
    {
      const memory_pool_scope second{inner};
      EXPECT_EQ(current_memory_pool(gpu), inner.ref());
      const buffer<char> x{s, mebibyte};
      EXPECT_GE(inner.usage().used, mebibyte);
    }
    EXPECT_EQ(current_memory_pool(gpu), outer.ref());
  }
  EXPECT_EQ(current_memory_pool(gpu), before);
}

TEST_F(MemoryPool, WhatWasCurrentMayEnd) {
  memory_pool pool{gpu};
  use(pool);
  EXPECT_EQ(current_memory_pool(gpu), pool.ref());
  pool.close();
  EXPECT_EQ(current_memory_pool(gpu), default_memory_pool(gpu));
}

// Peers.

TEST_F(MemoryPool, ItsOwnDeviceHasAccessForGood) {
  const memory_pool pool{gpu};
  EXPECT_EQ(pool.access(gpu), pool_access::read_write);
  EXPECT_EQ(result_of([&] { pool.set_access(gpu, pool_access::none); }), errc::invalid_device);
}

TEST_F(MemoryPool, AnotherDeviceHasItWhenItIsGiven) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  const device peer{1};
  if (!peer.can_access(gpu)) GTEST_SKIP() << "the devices cannot reach each other";
  const memory_pool pool{gpu};
  EXPECT_EQ(pool.access(peer), pool_access::none);
  pool.set_access(peer, pool_access::read_write);
  EXPECT_EQ(pool.access(peer), pool_access::read_write);

  // A stream of the other device, with memory of this one.
  const stream other{peer};
  buffer<std::uint32_t> x{pool, other, size};
  fill(other, x, 6u);
  buffer<std::uint32_t> y{other, size};
  copy(other, x, y);
  EXPECT_EQ(contents(other, y).back(), 6u);
  x.close();
  other.sync();
  pool.set_access(peer, pool_access::none);
  EXPECT_EQ(pool.access(peer), pool_access::none);
}

}  // namespace
}  // namespace weir
