// SPDX-License-Identifier: Apache-2.0
// memory_pool_device_test.cpp - the current pool of a device, and the devices that may access a
// pool.
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/memory_pool.hpp>

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "support/device_copy.hpp"
#include "support/errors.hpp"

namespace weir {
namespace {

using test::contents;
using test::failure_of;
using test::result_of;

class MemoryPoolDevice : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 1 << 14;
  static constexpr std::size_t mebibyte = 1 << 20;

  device gpu;
  stream s{gpu};
};

TEST_F(MemoryPoolDevice, TheDefaultPoolIsCurrentAtFirst) {
  EXPECT_EQ(default_memory_pool(gpu), current_memory_pool(gpu));
  EXPECT_EQ(default_memory_pool(gpu).device(), gpu);
  const buffer<char> x{default_memory_pool(gpu), s, mebibyte};
  EXPECT_GE(default_memory_pool(gpu).usage().used, mebibyte);
}

TEST_F(MemoryPoolDevice, AScopeSetsTheCurrentPoolAndRestoresTheEarlierOne) {
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

TEST_F(MemoryPoolDevice, ClosingTheCurrentPoolRestoresTheDefaultPool) {
  memory_pool pool{gpu};
  set_current_memory_pool(pool);
  EXPECT_EQ(current_memory_pool(gpu), pool.ref());
  pool.close();
  EXPECT_EQ(current_memory_pool(gpu), default_memory_pool(gpu));
}

TEST_F(MemoryPoolDevice, TheDeviceOfAPoolKeepsItsAccess) {
  const memory_pool pool{gpu};
  EXPECT_EQ(pool.access(gpu), pool_access::read_write);
  EXPECT_EQ(result_of([&] { pool.set_access(gpu, pool_access::none); }), errc::invalid_device);
}

TEST_F(MemoryPoolDevice, APeerDeviceHasAccessAfterSetAccess) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  const device peer{1};
  if (!peer.can_access(gpu)) GTEST_SKIP() << "the devices cannot reach each other";
  const memory_pool pool{gpu};
  EXPECT_EQ(pool.access(peer), pool_access::none);
  pool.set_access(peer, pool_access::read_write);
  EXPECT_EQ(pool.access(peer), pool_access::read_write);

  // A stream of the other device, with memory of this device.
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

TEST_F(MemoryPoolDevice, TheHintForMemoryOfAnotherDevicesPoolHelps) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  const device peer{1};
  if (!peer.can_access(gpu)) GTEST_SKIP() << "the devices cannot reach each other";
  const memory_pool pool{gpu};
  buffer<std::uint32_t> x{pool, s, size};
  s.sync();
  const stream other{peer};
  const auto failure = failure_of([&] { fill(other, x, 6u); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_value);
  EXPECT_NE(failure->hint().find("memory_pool_ref::set_access"), std::string::npos)
      << failure->what();
  pool.set_access(peer, pool_access::read_write);
  fill(other, x, 6u);
  other.sync();
  x.close();
  s.sync();
}

}  // namespace
}  // namespace weir
