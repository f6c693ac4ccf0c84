// memory_test.cpp - device and pinned memory, sets and copies: bounds, order, what blocks, and that nothing is lost.
#include "memory_fixture.hpp"
#include "out_of_memory.hpp"

#include <rapidcheck/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace weir::embedded {
namespace {

class Memory : public memory_test {};

CUdeviceptr allocate(std::size_t bytes) {
  CUdeviceptr address = 0;
  EXPECT_EQ(driver.cuMemAlloc_v2(&address, bytes), CUDA_SUCCESS);
  return address;
}
void release(CUdeviceptr address) { EXPECT_EQ(driver.cuMemFree_v2(address), CUDA_SUCCESS); }

std::vector<unsigned char> contents(CUdeviceptr address, std::size_t bytes) {
  std::vector<unsigned char> out(bytes);
  EXPECT_EQ(driver.cuMemcpyDtoH_v2(out.data(), address, bytes), CUDA_SUCCESS);
  return out;
}

TEST_F(Memory, IsAlignedAndAccountedFor) {
  const std::size_t before = free_memory();
  for (const std::size_t bytes : {1u, 511u, 513u, 65535u, 65536u, (1u << 21) + 1, 5u << 20}) {
    const CUdeviceptr address = allocate(bytes);
    EXPECT_EQ(address % 512, 0u);
    EXPECT_LE(free_memory(), before - bytes);
    EXPECT_GE(free_memory(), before - bytes - 512);
    release(address);
    EXPECT_EQ(free_memory(), before);
  }
}

// Managed memory leaves the rest of the device's free until it was prefetched there.
TEST_F(Memory, ThatIsManagedCountsOnceItWasPrefetched) {
  const std::size_t free_before = free_memory();
  CUdeviceptr memory = 0;
  ASSERT_EQ(driver.cuMemAllocManaged(&memory, 1 << 20, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemsetD8_v2(memory, 1, 1 << 20), CUDA_SUCCESS);
  EXPECT_EQ(free_memory(), free_before);
  EXPECT_EQ(driver.cuMemPrefetchAsync_v2(memory, 1 << 20, {CU_MEM_LOCATION_TYPE_DEVICE, 0}, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(free_memory(), free_before - (1 << 20));
  EXPECT_EQ(driver.cuMemFree_v2(memory), CUDA_SUCCESS);
}

TEST_F(Memory, EndsWhereTheDevicesMemoryEnds) {
  const std::size_t left = free_memory();
  ASSERT_TRUE(device().take(left - (1 << 20)));
  CUdeviceptr address = 0;
  EXPECT_EQ(driver.cuMemAlloc_v2(&address, (1 << 20) + 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver.cuMemAlloc_v2(&address, 1 << 20), CUDA_SUCCESS);
  CUdeviceptr more = 0;
  EXPECT_EQ(driver.cuMemAlloc_v2(&more, 1), CUDA_ERROR_OUT_OF_MEMORY);
  release(address);
  more = allocate(512);
  release(more);
  device().give_back(left - (1 << 20));
}

TEST_F(Memory, OfAContextEndsWithIt) {
  CUcontext other = nullptr;
  const std::size_t before = free_memory();
  ASSERT_EQ(driver.cuCtxCreate_v4(&other, nullptr, 0, 0), CUDA_SUCCESS);
  const CUdeviceptr address = allocate(4096);
  void* pinned = nullptr;
  ASSERT_EQ(driver.cuMemAllocHost_v2(&pinned, 4096), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxDestroy_v2(other), CUDA_SUCCESS);
  unsigned type = 0;
  EXPECT_EQ(driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address_of(pinned)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(free_memory(), before);
}

// Two threads that free the same memory: one of them succeeds (and nothing else breaks).
TEST_F(Memory, IsFreedOnce) {
  for (int round = 0; round < 200; ++round) {
    const CUdeviceptr address = allocate(64);
    CUresult other = CUDA_ERROR_UNKNOWN;
    std::thread thread{[&] { other = driver.cuMemFree_v2(address); }};
    const CUresult mine = driver.cuMemFree_v2(address);
    thread.join();
    EXPECT_NE(mine == CUDA_SUCCESS, other == CUDA_SUCCESS);
  }
}

// Any work of the context may use the memory, so that all of it is done when the call returns.
TEST_F(Memory, FreeWaitsForTheWorkOfTheContext) {
  test_stream s;
  const CUdeviceptr busy = allocate(1 << 20);
  const CUdeviceptr address = allocate(64);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(driver.cuMemsetD8Async(busy, static_cast<unsigned char>(i), 1 << 20, s), CUDA_SUCCESS);
  }
  release(address);
  EXPECT_EQ(driver.cuStreamQuery(s), CUDA_SUCCESS);
  release(busy);
}

// A copy of pageable memory reads it before the call returns; what the program writes there later is not copied.
TEST_F(Memory, SmallPageableSourcesAreReadAtTheCall) {
  test_stream s;
  const CUdeviceptr address = allocate(1 << 20);
  std::vector<unsigned char> source(1 << 20, 7);
  {
    held gate{s};
    EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(address, source.data(), source.size(), s), CUDA_SUCCESS);
    std::fill(source.begin(), source.end(), static_cast<unsigned char>(9));
    gate.open();
  }
  s.synchronize();
  EXPECT_THAT(contents(address, source.size()), testing::Each(7));
  release(address);
}

TEST_F(Memory, PinnedSourcesAreReadInOrder) {
  test_stream s;
  const CUdeviceptr address = allocate(64);
  const pinned_block source{64};
  std::memset(source.get(), 7, 64);
  {
    held gate{s};
    EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(address, source.get(), 64, s), CUDA_SUCCESS);
    std::memset(source.get(), 9, 64);
    gate.open();
  }
  s.synchronize();
  EXPECT_THAT(contents(address, 64), testing::Each(9));
  release(address);
}

// The driver's copy of a large pageable source would cost more than the wait: the source is read in order, and the call
// returns when it has been.
TEST_F(Memory, LargePageableSourcesMayBeWrittenAfterTheCall) {
  test_stream s;
  const std::size_t bytes = (1 << 20) + 4096;
  const CUdeviceptr address = allocate(bytes);
  std::vector<unsigned char> source(bytes, 7);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(address, source.data(), bytes, s), CUDA_SUCCESS);
  std::fill(source.begin(), source.end(), static_cast<unsigned char>(9));
  s.synchronize();
  EXPECT_THAT(contents(address, bytes), testing::Each(7));
  release(address);
}

TEST_F(Memory, PageableTargetsAreWrittenWhenTheCallReturns) {
  test_stream s;
  const CUdeviceptr address = allocate(1024);
  EXPECT_EQ(driver.cuMemsetD8Async(address, 5, 1024, s), CUDA_SUCCESS);
  std::vector<unsigned char> target(1024, 0);
  EXPECT_EQ(driver.cuMemcpyDtoHAsync_v2(target.data(), address, 1024, s), CUDA_SUCCESS);
  EXPECT_THAT(target, testing::Each(5));
  release(address);
}

TEST_F(Memory, SetsOfPinnedMemoryAreDoneWhenTheCallReturns) {
  const pinned_block target{64};
  EXPECT_EQ(driver.cuMemsetD32_v2(target.address(), 77, 16), CUDA_SUCCESS);
  EXPECT_EQ(words_at(target.address())[15], 77u);
}

TEST_F(Memory, IsNotReachedFromHostFunctionsButBySetsInStreams) {
  test_stream s;
  test_stream other;
  struct answers {
    CUstream other;
    CUdeviceptr address;
    CUresult set, set_null, copy, free, allocate, ask;
  } inside{};
  inside.other = other;
  inside.address = allocate(64);
  const auto ask = [](void* data) {
    auto& a = *static_cast<answers*>(data);
    CUdeviceptr made = 0;
    unsigned type = 0;
    a.set = driver.cuMemsetD8Async(a.address, 3, 64, a.other);
    a.set_null = driver.cuMemsetD8Async(a.address, 3, 64, nullptr);
    a.copy = driver.cuMemcpyDtoDAsync_v2(a.address, a.address + 32, 16, a.other);
    a.free = driver.cuMemFreeAsync(a.address, a.other);
    a.allocate = driver.cuMemAlloc_v2(&made, 64);
    a.ask = driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, a.address);
  };
  ASSERT_EQ(driver.cuLaunchHostFunc(s, ask, &inside), CUDA_SUCCESS);
  s.synchronize();
  other.synchronize();
  EXPECT_EQ(inside.set, CUDA_SUCCESS);
  EXPECT_EQ(contents(inside.address, 1)[0], 3);
  for (const CUresult refused : {inside.set_null, inside.copy, inside.free, inside.allocate, inside.ask}) {
    EXPECT_EQ(refused, CUDA_ERROR_NOT_PERMITTED);
  }
  release(inside.address);
}

// Registering needs memory that is there, and the record of it goes when the program says so.
TEST_F(Memory, OfTheProgramCanBeRegistered) {
  constexpr std::size_t page = 4096;
  void* pages = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(munmap(static_cast<std::byte*>(pages) + page, page), 0);
  EXPECT_EQ(driver.cuMemHostRegister_v2(pages, 2 * page, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemHostRegister_v2(pages, page, 0), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemsetD8_v2(address_of(pages), 4, page), CUDA_SUCCESS);
  EXPECT_EQ(static_cast<unsigned char*>(pages)[page - 1], 4);
  EXPECT_EQ(driver.cuMemsetD8_v2(address_of(pages) + 1, 4, page), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemHostUnregister(pages), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemsetD8_v2(address_of(pages), 4, page), CUDA_ERROR_INVALID_VALUE);
  munmap(pages, page);
}

// Random sets and copies, in and out of bounds, against plain vectors. Those out of bounds are refused and do nothing.
RC_GTEST_FIXTURE_PROP(Memory, SetsAndCopiesDoWhatTheySay, ()) {
  constexpr std::size_t bytes = 3000;
  const test_stream s;
  const pinned_block pinned{bytes};
  const std::vector<CUdeviceptr> blocks{allocate(bytes), allocate(bytes), pinned.address()};
  std::vector<std::vector<unsigned char>> expected(blocks.size(), std::vector<unsigned char>(bytes, 0));
  for (const CUdeviceptr block : blocks) RC_ASSERT(driver.cuMemsetD8Async(block, 0, bytes, s) == CUDA_SUCCESS);

  const auto any_block = rc::gen::inRange<std::size_t>(0, blocks.size());
  const auto any_offset = rc::gen::inRange<std::size_t>(0, bytes);
  const auto count = *rc::gen::inRange(1, 60);
  for (int i = 0; i < count; ++i) {
    const std::size_t to = *any_block;
    const std::size_t offset = *any_offset;
    const std::size_t length = *any_offset;
    const CUresult wanted = offset + length > bytes ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    const auto target = expected[to].begin() + static_cast<std::ptrdiff_t>(offset);
    if (*rc::gen::arbitrary<bool>()) {
      const auto value = *rc::gen::arbitrary<unsigned char>();
      RC_ASSERT(driver.cuMemsetD8Async(blocks[to] + offset, value, length, s) == (length == 0 ? CUDA_SUCCESS : wanted));
      if (wanted == CUDA_SUCCESS) std::fill_n(target, length, value);
    } else {
      const std::size_t from = *any_block;
      if (from == to) continue;  // overlapping copies mean nothing
      RC_ASSERT(driver.cuMemcpyAsync(blocks[to] + offset, blocks[from] + offset, length, s) ==
                (length == 0 ? CUDA_SUCCESS : wanted));
      if (wanted == CUDA_SUCCESS) {
        std::copy_n(expected[from].begin() + static_cast<std::ptrdiff_t>(offset), length, target);
      }
    }
  }
  s.synchronize();
  for (std::size_t i = 0; i < blocks.size(); ++i) RC_ASSERT(contents(blocks[i], bytes) == expected[i]);
  release(blocks[0]);
  release(blocks[1]);
}

// Two-dimensional sets of every width write their rows and nothing between them.
RC_GTEST_FIXTURE_PROP(Memory, SetsOfRowsLeaveWhatIsBetweenThem, ()) {
  const std::size_t element = *rc::gen::element<std::size_t>(1, 2, 4);
  const std::size_t width = *rc::gen::inRange<std::size_t>(1, 1500);
  const std::size_t height = *rc::gen::inRange<std::size_t>(1, 6);
  const std::size_t pitch = (width + *rc::gen::inRange<std::size_t>(0, 20)) * element;
  const auto value = *rc::gen::arbitrary<std::uint32_t>();
  const std::size_t bytes = pitch * height;
  const CUdeviceptr block = allocate(bytes);
  RC_ASSERT(driver.cuMemsetD8_v2(block, 0xee, bytes) == CUDA_SUCCESS);
  CUresult status = CUDA_ERROR_UNKNOWN;
  if (element == 1) status = driver.cuMemsetD2D8_v2(block, pitch, static_cast<unsigned char>(value), width, height);
  if (element == 2) status = driver.cuMemsetD2D16_v2(block, pitch, static_cast<unsigned short>(value), width, height);
  if (element == 4) status = driver.cuMemsetD2D32_v2(block, pitch, value, width, height);
  RC_ASSERT(status == CUDA_SUCCESS);

  std::vector<unsigned char> expected(bytes, 0xee);
  for (std::size_t row = 0; row < height; ++row) {
    for (std::size_t i = 0; i < width; ++i) std::memcpy(&expected[row * pitch + i * element], &value, element);
  }
  RC_ASSERT(contents(block, bytes) == expected);
  release(block);
}

// A box of one volume lands in another, whatever the pitches and the offsets.
RC_GTEST_FIXTURE_PROP(Memory, BoxesAreCopiedByRowsAndSlices, ()) {
  constexpr std::size_t volume = 4096;
  const auto small = rc::gen::inRange<std::size_t>(1, 9);
  const auto offset = rc::gen::inRange<std::size_t>(0, 4);
  CUDA_MEMCPY3D copy{};
  copy.WidthInBytes = *small;
  copy.Height = *small;
  copy.Depth = *rc::gen::inRange<std::size_t>(1, 5);
  std::tie(copy.srcXInBytes, copy.srcY, copy.srcZ) = *rc::gen::tuple(offset, offset, offset);
  std::tie(copy.dstXInBytes, copy.dstY, copy.dstZ) = *rc::gen::tuple(offset, offset, offset);
  copy.srcPitch = copy.srcXInBytes + copy.WidthInBytes + *offset;
  copy.dstPitch = copy.dstXInBytes + copy.WidthInBytes + *offset;
  copy.srcHeight = copy.srcY + copy.Height + *offset;
  copy.dstHeight = copy.dstY + copy.Height + *offset;
  const auto at = [](std::size_t x, std::size_t y, std::size_t z, std::size_t pitch, std::size_t rows) {
    return (z * rows + y) * pitch + x;
  };
  const auto end = [&](std::size_t x, std::size_t y, std::size_t z, std::size_t pitch, std::size_t rows) {
    return at(x + copy.WidthInBytes - 1, y + copy.Height - 1, z + copy.Depth - 1, pitch, rows) + 1;
  };
  const bool inside = end(copy.srcXInBytes, copy.srcY, copy.srcZ, copy.srcPitch, copy.srcHeight) <= volume &&
                      end(copy.dstXInBytes, copy.dstY, copy.dstZ, copy.dstPitch, copy.dstHeight) <= volume;

  std::vector<unsigned char> source(volume);
  std::iota(source.begin(), source.end(), static_cast<unsigned char>(1));
  const CUdeviceptr from = allocate(volume);
  const CUdeviceptr to = allocate(volume);
  RC_ASSERT(driver.cuMemcpyHtoD_v2(from, source.data(), volume) == CUDA_SUCCESS);
  RC_ASSERT(driver.cuMemsetD8_v2(to, 0xee, volume) == CUDA_SUCCESS);
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.dstDevice = to;
  RC_ASSERT(driver.cuMemcpy3D_v2(&copy) == (inside ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE));

  std::vector<unsigned char> expected(volume, 0xee);
  for (std::size_t z = 0; inside && z < copy.Depth; ++z) {
    for (std::size_t y = 0; y < copy.Height; ++y) {
      std::memcpy(&expected[at(copy.dstXInBytes, copy.dstY + y, copy.dstZ + z, copy.dstPitch, copy.dstHeight)],
                  &source[at(copy.srcXInBytes, copy.srcY + y, copy.srcZ + z, copy.srcPitch, copy.srcHeight)],
                  copy.WidthInBytes);
    }
  }
  RC_ASSERT(contents(to, volume) == expected);
  release(from);
  release(to);
}

// Allocations of all kinds that live together never overlap, and all of them can be told apart by any address of theirs.
RC_GTEST_FIXTURE_PROP(Memory, AllocationsDoNotOverlap, ()) {
  const test_stream s;
  std::vector<std::pair<CUdeviceptr, std::size_t>> live;
  std::vector<int> kinds;
  const std::size_t before = free_memory();
  const auto free_one = [&](std::size_t i) {
    const CUdeviceptr address = live[i].first;
    const CUresult status = kinds[i] == 0   ? driver.cuMemFree_v2(address)
                            : kinds[i] == 1 ? driver.cuMemFreeAsync(address, s)
                                            : driver.cuMemFreeHost(reinterpret_cast<void*>(address));
    RC_ASSERT(status == CUDA_SUCCESS);
    live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
    kinds.erase(kinds.begin() + static_cast<std::ptrdiff_t>(i));
  };
  const auto count = *rc::gen::inRange(1, 80);
  for (int i = 0; i < count; ++i) {
    if (!live.empty() && *rc::gen::inRange(0, 3) == 0) {
      free_one(*rc::gen::inRange<std::size_t>(0, live.size()));
      continue;
    }
    const int kind = *rc::gen::inRange(0, 3);
    const std::size_t bytes =
        *rc::gen::oneOf(rc::gen::inRange<std::size_t>(1, 2000), rc::gen::inRange<std::size_t>(1, 300000));
    CUdeviceptr address = 0;
    void* pointer = nullptr;
    const CUresult status = kind == 0   ? driver.cuMemAlloc_v2(&address, bytes)
                            : kind == 1 ? driver.cuMemAllocAsync(&address, bytes, s)
                                        : driver.cuMemAllocHost_v2(&pointer, bytes);
    RC_ASSERT(status == CUDA_SUCCESS);
    if (kind == 2) address = address_of(pointer);
    for (const auto& [other, length] : live) RC_ASSERT(address + bytes <= other || other + length <= address);
    live.emplace_back(address, bytes);
    kinds.push_back(kind);
    CUdeviceptr base = 0;
    std::size_t size = 0;
    RC_ASSERT(driver.cuMemGetAddressRange_v2(&base, &size, address + bytes - 1) == CUDA_SUCCESS);
    RC_ASSERT(base == address && size == bytes);
  }
  while (!live.empty()) free_one(live.size() - 1);
  s.synchronize();
  RC_ASSERT(free_memory() == before);
}

// Ends something, for as long as that finds no memory for its own needs.
template <class End>
void end_with_little_memory(End&& end) {
  for (int room = 0; room < 100; ++room) {
    const CUresult status = [&] {
      const out_of_memory after{room};
      return end();
    }();
    if (status == CUDA_SUCCESS) return;
    ASSERT_EQ(status, CUDA_ERROR_OUT_OF_MEMORY) << "with room for " << room;
  }
  FAIL();
}

// An end that fails because it finds no memory has ended nothing.
TEST_F(Memory, CanBeEndedAgainAfterAnEndThatFailed) {
  CUdeviceptr device_memory = 0;
  CUdeviceptr managed = 0;
  void* pinned = nullptr;
  alignas(64) static std::byte own[64];
  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR shape{16, 16, CU_AD_FORMAT_FLOAT, 1};
  ASSERT_EQ(driver.cuMemAlloc_v2(&device_memory, 4096), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemHostAlloc(&pinned, 4096, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemHostRegister_v2(own, sizeof own, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuArrayCreate_v2(&array, &shape), CUDA_SUCCESS);
  end_with_little_memory([&] { return driver.cuMemFree_v2(device_memory); });
  end_with_little_memory([&] { return driver.cuMemFree_v2(managed); });
  end_with_little_memory([&] { return driver.cuMemFreeHost(pinned); });
  end_with_little_memory([&] { return driver.cuMemHostUnregister(own); });
  end_with_little_memory([&] { return driver.cuArrayDestroy(array); });
}

}  // namespace
}  // namespace weir::embedded
