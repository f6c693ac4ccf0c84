// SPDX-License-Identifier: Apache-2.0
// memory_pools_test.cpp - the code that docs/guide/memory-pools.md shows.
#include <gtest/gtest.h>

#include <vector>
#include <weir/weir.hpp>

namespace {

class MemoryPoolsPage : public ::testing::Test {
 protected:
  weir::device gpu;
  weir::stream s{gpu};
};

TEST_F(MemoryPoolsPage, APoolAllocatesBuffersAndMemory) {
  // [pools-own]
  const weir::memory_pool pool{gpu, {.max_size = 256 << 20, .release_threshold = weir::keep_all}};
  weir::buffer<float> x{pool, s, 1000};  // a buffer like any other
  void* raw = pool.allocate(s, 4096);    // or without a buffer
  pool.deallocate(s, raw);               // in the order of s: later work must not use it
  weir::pool_usage now = pool.usage();   // bytes reserved and used, with their maxima
  pool.trim();                           // returns idle memory to the device
  // [/pools-own]
  EXPECT_GE(now.used, x.size_bytes());
  EXPECT_GE(now.used_high, x.size_bytes() + 4096);
}

TEST_F(MemoryPoolsPage, APoolNamesItsLocation) {
  if (gpu.attribute(weir::device_attribute::concurrent_managed_access) == 0)
    GTEST_SKIP() << "no concurrent access";
  // [pools-places]
  const weir::memory_pool near{
      gpu, {.memory = weir::pool_memory::pinned, .location = weir::memory_location::host_node(0)}};
  const weir::memory_pool shared{gpu, {.memory = weir::pool_memory::managed, .location = gpu}};
  weir::buffer<int> x{shared, s, 1000};
  weir::fill(s, x, 2);
  weir::prefetch(s, x, weir::memory_location::host());  // like any managed memory
  s.sync();
  int first = x.data()[0];  // valid on the host, too
  // [/pools-places]
  EXPECT_EQ(first, 2);
}

TEST_F(MemoryPoolsPage, ARetryingPoolAllocates) {
  const weir::memory_pool pool{gpu};
  // [pools-patience]
  weir::buffer<float> x{pool.retrying(), s,
                        1000};  // may block the host until the context's work is done
  // [/pools-patience]
  EXPECT_NE(x.data(), nullptr);
}

TEST_F(MemoryPoolsPage, APeerDeviceHasAccess) {
  if (weir::device::count() < 2) GTEST_SKIP() << "one device";
  const weir::memory_pool pool{gpu};
  // [pools-peers]
  weir::device peer{1};
  if (peer.can_access(gpu)) {
    pool.set_access(peer, weir::pool_access::read_write);  // memory of this pool
    const weir::peer_access access{peer, gpu};             // cudaMalloc memory, until its end
  }
  // [/pools-peers]
}

TEST_F(MemoryPoolsPage, StandardContainersUseAPool) {
  // [pools-resources]
  const weir::memory_pool pool{
      gpu, {.memory = weir::pool_memory::pinned, .release_threshold = weir::keep_all}};
  const weir::pinned_pool_resource resource{pool};
  void* memory = resource.allocate(s, 4096, 16);
  resource.deallocate(s, memory, 4096, 16);
  std::vector<float, weir::pinned_allocator<float>> numbers(1000, 1.0f, pool);
  weir::fill(s, numbers, 2.0f);  // the device writes it in place
  s.sync();
  // [/pools-resources]
  EXPECT_EQ(numbers.back(), 2.0f);
}

TEST_F(MemoryPoolsPage, AScopeSetsTheCurrentPool) {
  const weir::memory_pool pool{gpu};
  // [pools-current]
  weir::default_memory_pool(gpu).set_release_threshold(64 << 20);
  {
    const weir::memory_pool_scope current{pool};
    const weir::buffer<float> x{s, 1000};  // from pool
  }                                        // the previous pool is current again
  // [/pools-current]
  EXPECT_EQ(weir::current_memory_pool(gpu), weir::default_memory_pool(gpu));
  EXPECT_GT(pool.usage().used_high, 0u);
  weir::default_memory_pool(gpu).set_release_threshold(0);
}

}  // namespace
