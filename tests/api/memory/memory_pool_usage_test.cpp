// SPDX-License-Identifier: Apache-2.0
// memory_pool_usage_test.cpp - what pools keep, count and reuse, and what a request for too much
// memory does.
#include <weir/core/to_string.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/memory_pool.hpp>

#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "support/device_copy.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"
#include "support/gate_opener.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::contents;
using test::failure_of;
using test::gate;
using test::gate_opener;
using test::result_of;

class MemoryPoolUsage : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 1 << 14;
  static constexpr std::size_t mebibyte = 1 << 20;

  // A small pool that gives a stream's memory to other streams only after the free has completed.
  static memory_pool_options small() {
    return {.max_size = 64 * mebibyte,
            .reuse = {.follow_event_dependencies = false,
                      .opportunistic = false,
                      .internal_dependencies = false}};
  }

  device gpu;
  stream s{gpu};
  stream t{gpu};
};

TEST_F(MemoryPoolUsage, APoolKeepsFreeMemoryUpToItsReleaseThreshold) {
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

TEST_F(MemoryPoolUsage, ANewPoolKeepsNoFreeMemory) {
  const memory_pool pool{gpu};
  EXPECT_EQ(pool.release_threshold(), 0u);
  { const buffer<char> x{pool, s, mebibyte}; }
  s.sync();
  EXPECT_EQ(pool.usage().reserved, 0u);
  pool.set_release_threshold(16 * mebibyte);
  EXPECT_EQ(pool.release_threshold(), 16 * mebibyte);
}

TEST_F(MemoryPoolUsage, TrimmingLeavesMemoryInUse) {
  const memory_pool pool{gpu};
  buffer<std::uint32_t> x{pool, s, size};
  fill(s, x, 1u);
  pool.trim();
  EXPECT_GE(pool.usage().reserved, x.size_bytes());
  EXPECT_EQ(contents(s, x).back(), 1u);
}

TEST_F(MemoryPoolUsage, APoolCountsItsUsageAndHighWaterMarks) {
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
  pool.reset_high_watermarks();
  EXPECT_EQ(pool.usage().used_high, 0u);
  EXPECT_EQ(pool.usage().reserved_high, 0u);
}

TEST_F(MemoryPoolUsage, TheReuseOptionsAreEnabledByDefault) {
  const memory_pool pool{gpu};
  EXPECT_EQ(pool.reuse(), pool_reuse{});
  for (const pool_reuse rules :
       {pool_reuse{.follow_event_dependencies = false}, pool_reuse{.opportunistic = false},
        pool_reuse{.internal_dependencies = false}}) {
    pool.set_reuse(rules);
    EXPECT_EQ(pool.reuse(), rules);
    EXPECT_EQ((memory_pool{gpu, {.reuse = rules}}.reuse()), rules);
  }
}

TEST_F(MemoryPoolUsage, MemoryOfAQueuedFreeIsNotGivenToAnotherStream) {
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

TEST_F(MemoryPoolUsage, AnOversizedRequestThrowsOutOfMemory) {
  const memory_pool pool{gpu, small()};
  const auto failure = failure_of([&] { static_cast<void>(pool.allocate(s, 128 * mebibyte)); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::out_of_memory);
  EXPECT_STREQ(failure->call(), "cuMemAllocFromPoolAsync");
  EXPECT_EQ(failure->object(), to_string(pool));
  EXPECT_NE(failure->hint().find("retrying() does not help"), std::string::npos) << failure->what();
  EXPECT_EQ(result_of([&] { const buffer<char> x{pool, s, 128 * mebibyte}; }), errc::out_of_memory);
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(result_of([&] {
              const buffer<std::uint64_t> x{pool, s, most / 4};
            }),
            errc::out_of_memory);
  const buffer<char> small_one{pool, s, 16};  // the pool still works
  s.sync();
}

TEST_F(MemoryPoolUsage, ARetryingPoolWaitsForQueuedFrees) {
  const memory_pool pool{gpu, small()};
  gate held{s};
  pool.deallocate(s, pool.allocate(s, 40 * mebibyte));
  EXPECT_EQ(result_of([&] { static_cast<void>(pool.allocate(t, 40 * mebibyte)); }),
            errc::out_of_memory);
  {
    const gate_opener opens{held, &driver_table::cuEventSynchronize};
    const buffer<char> x{pool.retrying(), t, 40 * mebibyte};
    EXPECT_NE(x.data(), nullptr);
  }
  t.sync();
  s.sync();
}

TEST_F(MemoryPoolUsage, ARetryingPoolStopsAfterItsRetries) {
  const memory_pool pool{gpu, small()};
  EXPECT_EQ(pool.ref().retries(), 0);
  const fault_table calls;
  EXPECT_EQ(result_of([&] { static_cast<void>(pool.retrying(2).allocate(s, 128 * mebibyte)); }),
            errc::out_of_memory);
  EXPECT_EQ(calls.count(&driver_table::cuMemAllocFromPoolAsync), 3);
  EXPECT_EQ(calls.count(&driver_table::cuMemPoolTrimTo), 2);
}

}  // namespace
}  // namespace weir
