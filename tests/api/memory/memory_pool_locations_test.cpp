// SPDX-License-Identifier: Apache-2.0
// memory_pool_locations_test.cpp - pools of host memory and of managed memory.
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/managed_memory.hpp>
#include <weir/memory/memory_pool.hpp>

#include <cstdint>
#include <optional>
#include <span>

#include <gtest/gtest.h>

#include "support/device_copy.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::contents;
using test::result_of;

class MemoryPoolPlaces : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 1 << 14;
  static constexpr std::size_t mebibyte = 1 << 20;

  device gpu;
  stream s{gpu};
};

TEST_F(MemoryPoolPlaces, TheHostAndDevicesUsePinnedMemory) {
  const memory_pool pool{gpu, {.memory = pool_memory::pinned}};
  auto* const words = static_cast<std::uint32_t*>(pool.allocate(s, size * sizeof(std::uint32_t)));
  fill(s, std::span{words, size}, 3u);
  s.sync();
  EXPECT_EQ(words[size - 1], 3u);
  words[0] = 4;
  buffer<std::uint32_t> x{s, 1};
  copy(s, std::span{words, 1}, x);
  EXPECT_EQ(contents(s, x).front(), 4u);
  pool.deallocate(s, words);
}

// A pinned pool may be on one NUMA node of the host. Every machine has node 0.
TEST_F(MemoryPoolPlaces, APinnedPoolMayNameItsNumaNode) {
  const memory_pool pool{
      gpu, {.memory = pool_memory::pinned, .location = memory_location::host_node(0)}};
  auto* const words = static_cast<std::uint32_t*>(pool.allocate(s, size * sizeof(std::uint32_t)));
  fill(s, std::span{words, size}, 3u);
  s.sync();
  EXPECT_EQ(words[size - 1], 3u);
  pool.deallocate(s, words);
  s.sync();
  EXPECT_EQ(result_of([&] {
              const memory_pool none{
                  gpu, {.memory = pool_memory::pinned, .location = memory_location::host_node(99)}};
            }),
            errc::invalid_value);
}

TEST_F(MemoryPoolPlaces, TheHostAndDevicesUseManagedMemory) {
  if (gpu.attribute(device_attribute::concurrent_managed_access) == 0)
    GTEST_SKIP() << "no concurrent access";
  for (const std::optional<memory_location> location :
       {std::optional<memory_location>{}, std::optional{memory_location{gpu}},
        std::optional{memory_location::host()}, std::optional{memory_location::host_node(0)}}) {
    const memory_pool pool{gpu, {.memory = pool_memory::managed, .location = location}};
    buffer<std::uint32_t> x{pool, s, size};
    EXPECT_GE(pool.usage().used, x.size_bytes());
    fill(s, x, 3u);
    s.sync();
    const std::span<std::uint32_t> here{x.data(), x.size()};  // also the address for the host
    EXPECT_EQ(here[size - 1], 3u);
    here[0] = 4;
    EXPECT_EQ(contents(s, x).front(), 4u);
    prefetch(s, here, memory_location::host());
    s.sync();
    EXPECT_EQ(here[0], 4u);
  }
}

// Combinations of options that such memory does not support.
TEST_F(MemoryPoolPlaces, InvalidManagedAndPinnedOptionsAreRefused) {
  const auto result = [&](const memory_pool_options& options) {
    return result_of([&] { const memory_pool none{gpu, options}; });
  };
  EXPECT_EQ(result({.memory = pool_memory::managed, .max_size = mebibyte}), errc::invalid_value);
  EXPECT_EQ(result({.memory = pool_memory::managed, .sharing = pool_sharing::file_descriptor}),
            errc::invalid_value);
  EXPECT_EQ(
      result({.memory = pool_memory::pinned, .location = memory_location::current_host_node()}),
      errc::invalid_value);
  EXPECT_EQ(result({.location = memory_location{gpu}}), errc::success);

  // Refused before the driver sees them: it would create a pool of another kind.
  const fault_table calls;
  EXPECT_EQ(result({.location = memory_location::host()}), errc::invalid_value);
  EXPECT_EQ(result({.location = memory_location{device{gpu.ordinal() + 1}}}), errc::invalid_value);
  EXPECT_EQ(result({.memory = pool_memory::pinned, .location = memory_location{gpu}}),
            errc::invalid_value);
  EXPECT_EQ(calls.count(&driver_table::cuMemPoolCreate), 0);
}

TEST_F(MemoryPoolPlaces, APinnedPoolCannotBeTheCurrentPool) {
  const memory_pool pool{gpu, {.memory = pool_memory::pinned}};
  EXPECT_EQ(result_of([&] { set_current_memory_pool(pool); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { const memory_pool_scope current{pool}; }), errc::invalid_value);
  EXPECT_EQ(current_memory_pool(gpu), default_memory_pool(gpu));
}

}  // namespace
}  // namespace weir
