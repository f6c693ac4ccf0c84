// SPDX-License-Identifier: Apache-2.0
// memory_resource_test.cpp - pools in the form of other libraries: resources, allocators, std::pmr.
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/memory_resource.hpp>
#include <weir/memory/pinned_allocator.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "support/device_copy.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/foreign_capture.hpp"
#include "support/gate.hpp"

// Properties as in CCCL, in a versioned namespace, and some with similar names that must not match.
namespace theirs::mr {
inline namespace version_4 {
struct device_accessible {};
struct host_accessible {};
struct not_device_accessible {};
struct device_accessible_too {};
}  // namespace version_4
}  // namespace theirs::mr

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::contents;
using test::gate;
using test::result_of;

// A stream type of another library.
struct their_stream {
  CUstream_st* handle;
  [[nodiscard]] CUstream_st* get() const { return handle; }
};

// The concepts cuda::mr::synchronous_resource and resource of CCCL 3.1 and later, which RMM
// requires too.
template <class R>
concept synchronous_resource = std::equality_comparable<R> && std::copy_constructible<R> &&
    requires(R& r, void* p, std::size_t n, std::size_t a) {
  { r.allocate_sync(n, a) } -> std::same_as<void*>;
  { r.deallocate_sync(p, n, a) }
  noexcept->std::same_as<void>;
};
template <class R>
concept resource = synchronous_resource<R> &&
    requires(R& r, their_stream s, void* p, std::size_t n, std::size_t a) {
  { r.allocate(s, n, a) } -> std::same_as<void*>;
  { r.deallocate(s, p, n, a) }
  noexcept->std::same_as<void>;
  r.allocate(s, n);
  r.deallocate(s, p, n);
};
template <class R, class P>
concept has_property = requires(const R& r, P p) {
  get_property(r, p);
};

static_assert(resource<device_pool_resource> && resource<pinned_pool_resource>);
static_assert(std::is_trivially_copyable_v<device_pool_resource>);
static_assert(has_property<device_pool_resource, theirs::mr::device_accessible>);
static_assert(!has_property<device_pool_resource, theirs::mr::host_accessible>);
static_assert(has_property<pinned_pool_resource, theirs::mr::device_accessible>);
static_assert(has_property<pinned_pool_resource, theirs::mr::host_accessible>);
static_assert(!has_property<pinned_pool_resource, theirs::mr::not_device_accessible>);
static_assert(!has_property<pinned_pool_resource, theirs::mr::device_accessible_too>);
static_assert(!has_property<pinned_pool_resource, int>);

class MemoryResource : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 1000;

  device gpu;
  stream s{gpu};
  memory_pool pool{gpu, {.release_threshold = keep_all}};
  memory_pool pinned{gpu, {.memory = pool_memory::pinned, .release_threshold = keep_all}};
};

TEST_F(MemoryResource, AResourceTakesStreamTypesOfOtherLibraries) {
  const device_pool_resource resource{pool};
  const their_stream theirs{s.get()};
  gate held{s};
  void* const memory =
      resource.allocate(theirs, size * sizeof(std::uint32_t), alignof(std::uint32_t));
  ASSERT_NE(memory, nullptr);
  const std::span<std::uint32_t> words{static_cast<std::uint32_t*>(memory), size};
  fill(s, words, 3u);
  buffer<std::uint32_t> kept{s, size};
  copy(s, words, kept);
  resource.deallocate(theirs, memory, size * sizeof(std::uint32_t), alignof(std::uint32_t));
  held.open();
  EXPECT_EQ(contents(s, kept).back(), 3u);
}

TEST_F(MemoryResource, TheAsyncNamesAreAliases) {
  const device_pool_resource resource{pool};
  resource.deallocate_async(resource.allocate_async(size, 16, s), size, 16, s);
  resource.deallocate_async(resource.allocate_async(size, s), size, s);
  resource.deallocate(resource.allocate(size, 16), size, 16);
  EXPECT_EQ(pool.usage().used, 0u);
}

// The memory can be used on every stream at once, even if another stream used it just before.
TEST_F(MemoryResource, MemoryAllocatedWithoutAStreamIsReadyWhenTheCallReturns) {
  const pinned_pool_resource resource{pinned};
  auto* const words =
      static_cast<std::uint32_t*>(resource.allocate_sync(size * sizeof(std::uint32_t)));
  std::iota(words, words + size, 0u);
  buffer<std::uint32_t> x{s, size};
  copy(s, std::span{words, size}, x);
  EXPECT_EQ(contents(s, x).back(), size - 1);
  resource.deallocate_sync(words, size * sizeof(std::uint32_t));
}

// The resource uses a stream that does not capture.
TEST_F(MemoryResource, AllocatingWithoutAStreamBreaksNoCapture) {
  const device_pool_resource resource{pool};
  test::foreign_capture foreign{s, abi::CU_STREAM_CAPTURE_MODE_GLOBAL};
  void* const memory = resource.allocate_sync(size);
  resource.deallocate_sync(memory, size);
  EXPECT_TRUE(foreign.end());
}

TEST_F(MemoryResource, ResourcesOfOnePoolAreEqual) {
  const memory_pool other{gpu};
  EXPECT_EQ(device_pool_resource{pool}, device_pool_resource{pool.retrying()});
  EXPECT_NE(device_pool_resource{pool}, device_pool_resource{other});
  EXPECT_EQ(device_pool_resource{default_memory_pool(gpu)}.pool(), default_memory_pool(gpu));
}

TEST_F(MemoryResource, AnUnsupportedAlignmentIsRefused) {
  const device_pool_resource resource{pool};
  for (const std::size_t wrong : {std::size_t{0}, std::size_t{24}, std::size_t{512}}) {
    EXPECT_EQ(result_of([&] { static_cast<void>(resource.allocate(s, size, wrong)); }),
              errc::invalid_value);
    EXPECT_EQ(result_of([&] { static_cast<void>(resource.allocate_sync(size, wrong)); }),
              errc::invalid_value);
  }
  EXPECT_EQ(pool.usage().used, 0u);
}

TEST_F(MemoryResource, StandardContainersUsePinnedMemory) {
  std::vector<std::uint32_t, pinned_allocator<std::uint32_t>> numbers(size, 7u, pinned);
  EXPECT_GE(pinned.usage().used, size * sizeof(std::uint32_t));
  fill(s, numbers, 8u);  // the device accesses the memory in place
  s.sync();
  EXPECT_EQ(numbers.back(), 8u);
  auto copied = numbers;
  copied.resize(4 * size);
  EXPECT_EQ(copied[size - 1], 8u);
  EXPECT_EQ(copied.get_allocator(), pinned_allocator<char>{pinned});
  const auto shared = std::allocate_shared<long>(pinned_allocator<long>{pinned}, 5L);
  EXPECT_EQ(*shared, 5L);
}

TEST_F(MemoryResource, AllMemoryIsReturned) {
  {
    const std::vector<std::uint32_t, pinned_allocator<std::uint32_t>> numbers(size, 7u, pinned);
    pinned_memory_resource resource{pinned};
    const std::pmr::vector<std::uint32_t> more(size, 7u, &resource);
    EXPECT_GE(pinned.usage().used, 2 * size * sizeof(std::uint32_t));
  }
  EXPECT_EQ(pinned.usage().used, 0u);
}

TEST_F(MemoryResource, StdPmrContainersUseTheResource) {
  pinned_memory_resource resource{pinned};
  pinned_memory_resource same{pinned};
  const memory_pool other{gpu, {.memory = pool_memory::pinned}};
  pinned_memory_resource different{other};
  EXPECT_TRUE(resource.is_equal(same));
  EXPECT_FALSE(resource.is_equal(different));
  EXPECT_FALSE(resource.is_equal(*std::pmr::new_delete_resource()));
  std::pmr::vector<std::uint32_t> numbers(size, 1u, &resource);
  fill(s, numbers, 2u);
  s.sync();
  EXPECT_EQ(numbers.front(), 2u);
  EXPECT_EQ(result_of([&] { static_cast<void>(resource.allocate(64, 4096)); }),
            errc::invalid_value);
}

TEST_F(MemoryResource, OutOfMemoryIsThrownAsBadAlloc) {
  const memory_pool small{gpu, {.memory = pool_memory::pinned, .max_size = 1 << 20}};
  using vector = std::vector<char, pinned_allocator<char>>;
  EXPECT_THROW(vector(1 << 30, 'x', small), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(pinned_allocator<long>{small}.allocate(~std::size_t{0} / 2)),
               std::bad_array_new_length);
}

// On a GPU, the first store of the host would crash the program.
TEST(PinnedAllocator, AnAllocatorRefusesAPoolOfDeviceMemory) {
  const memory_pool far{device{}};
  EXPECT_EQ(test::result_of([&] { static_cast<void>(pinned_allocator<int>{far}.allocate(10)); }),
            errc::invalid_value);
  EXPECT_EQ(far.usage().used, 0u);
}

}  // namespace
}  // namespace weir
