// SPDX-License-Identifier: Apache-2.0
// copy_test.cpp - memsets and copies: completion, blocking, and results.
#include "embedded/memory/linear_fixture.hpp"

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <tuple>
#include <vector>

namespace weir::embedded {
namespace {

class Copy : public linear_test {};

// A copy reads a small pageable source before the call returns; later writes of the program are not
// copied.
TEST_F(Copy, SmallPageableSourcesAreReadAtTheCall) {
  test_stream s;
  const CUdeviceptr address = allocate(1 << 20);
  std::vector<unsigned char> source(1 << 20, 7);
  {
    stream_gate gate{s};
    EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(address, source.data(), source.size(), s), CUDA_SUCCESS);
    std::fill(source.begin(), source.end(), static_cast<unsigned char>(9));
    gate.open();
  }
  s.synchronize();
  EXPECT_THAT(contents(address, source.size()), testing::Each(7));
  release(address);
}

TEST_F(Copy, PinnedSourcesAreReadInOrder) {
  test_stream s;
  const CUdeviceptr address = allocate(64);
  const pinned_block source{64};
  std::memset(source.get(), 7, 64);
  {
    stream_gate gate{s};
    EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(address, source.get(), 64, s), CUDA_SUCCESS);
    std::memset(source.get(), 9, 64);
    gate.open();
  }
  s.synchronize();
  EXPECT_THAT(contents(address, 64), testing::Each(9));
  release(address);
}

// A pageable source of more than 2 MiB is read in stream order, and the call returns afterwards.
TEST_F(Copy, LargePageableSourcesMayBeWrittenAfterTheCall) {
  test_stream s;
  const std::size_t bytes = (2 << 20) + 4096;
  const CUdeviceptr address = allocate(bytes);
  std::vector<unsigned char> source(bytes, 7);
  EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(address, source.data(), bytes, s), CUDA_SUCCESS);
  std::fill(source.begin(), source.end(), static_cast<unsigned char>(9));
  s.synchronize();
  EXPECT_THAT(contents(address, bytes), testing::Each(7));
  release(address);
}

TEST_F(Copy, PageableTargetsAreWrittenWhenTheCallReturns) {
  test_stream s;
  const CUdeviceptr address = allocate(1024);
  EXPECT_EQ(driver.cuMemsetD8Async(address, 5, 1024, s), CUDA_SUCCESS);
  std::vector<unsigned char> target(1024, 0);
  EXPECT_EQ(driver.cuMemcpyDtoHAsync_v2(target.data(), address, 1024, s), CUDA_SUCCESS);
  EXPECT_THAT(target, testing::Each(5));
  release(address);
}

TEST_F(Copy, SetsOfPinnedMemoryAreDoneWhenTheCallReturns) {
  const pinned_block target{64};
  EXPECT_EQ(driver.cuMemsetD32_v2(target.address(), 77, 16), CUDA_SUCCESS);
  EXPECT_EQ(words_at(target.address())[15], 77u);
}

TEST_F(Copy, HostFunctionsMayOnlyQueueSets) {
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
  for (const CUresult refused :
       {inside.set_null, inside.copy, inside.free, inside.allocate, inside.ask}) {
    EXPECT_EQ(refused, CUDA_ERROR_NOT_PERMITTED);
  }
  release(inside.address);
}

// Compares random memsets and copies, in and out of bounds, with plain vectors. Those out of bounds
// fail and do nothing.
RC_GTEST_FIXTURE_PROP(Copy, SetsAndCopiesMatchAModel, ()) {
  constexpr std::size_t bytes = 3000;
  const test_stream s;
  const pinned_block pinned{bytes};
  const std::vector<CUdeviceptr> blocks{allocate(bytes), allocate(bytes), pinned.address()};
  std::vector<std::vector<unsigned char>> expected(blocks.size(),
                                                   std::vector<unsigned char>(bytes, 0));
  for (const CUdeviceptr block : blocks)
    RC_ASSERT(driver.cuMemsetD8Async(block, 0, bytes, s) == CUDA_SUCCESS);

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
      RC_ASSERT(driver.cuMemsetD8Async(blocks[to] + offset, value, length, s) ==
                (length == 0 ? CUDA_SUCCESS : wanted));
      if (wanted == CUDA_SUCCESS) std::fill_n(target, length, value);
    } else {
      const std::size_t from = *any_block;
      if (from == to) continue;  // overlapping copies are undefined
      RC_ASSERT(driver.cuMemcpyAsync(blocks[to] + offset, blocks[from] + offset, length, s) ==
                (length == 0 ? CUDA_SUCCESS : wanted));
      if (wanted == CUDA_SUCCESS) {
        std::copy_n(expected[from].begin() + static_cast<std::ptrdiff_t>(offset), length, target);
      }
    }
  }
  s.synchronize();
  for (std::size_t i = 0; i < blocks.size(); ++i)
    RC_ASSERT(contents(blocks[i], bytes) == expected[i]);
  release(blocks[0]);
  release(blocks[1]);
}

// Two-dimensional memsets of every width write their rows and nothing between them.
RC_GTEST_FIXTURE_PROP(Copy, SetsOfRowsLeaveTheBytesBetweenThem, ()) {
  const std::size_t element = *rc::gen::element<std::size_t>(1, 2, 4);
  const std::size_t width = *rc::gen::inRange<std::size_t>(1, 1500);
  const std::size_t height = *rc::gen::inRange<std::size_t>(1, 6);
  const std::size_t pitch = (width + *rc::gen::inRange<std::size_t>(0, 20)) * element;
  const auto value = *rc::gen::arbitrary<std::uint32_t>();
  const std::size_t bytes = pitch * height;
  const CUdeviceptr block = allocate(bytes);
  RC_ASSERT(driver.cuMemsetD8_v2(block, 0xee, bytes) == CUDA_SUCCESS);
  CUresult status = CUDA_ERROR_UNKNOWN;
  if (element == 1)
    status = driver.cuMemsetD2D8_v2(block, pitch, static_cast<unsigned char>(value), width, height);
  if (element == 2)
    status =
        driver.cuMemsetD2D16_v2(block, pitch, static_cast<unsigned short>(value), width, height);
  if (element == 4) status = driver.cuMemsetD2D32_v2(block, pitch, value, width, height);
  RC_ASSERT(status == CUDA_SUCCESS);

  std::vector<unsigned char> expected(bytes, 0xee);
  for (std::size_t row = 0; row < height; ++row) {
    for (std::size_t i = 0; i < width; ++i)
      std::memcpy(&expected[row * pitch + i * element], &value, element);
  }
  RC_ASSERT(contents(block, bytes) == expected);
  release(block);
}

// A box is copied correctly between two volumes with any pitches and offsets.
RC_GTEST_FIXTURE_PROP(Copy, BoxesAreCopiedByRowsAndSlices, ()) {
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
  const auto at = [](std::size_t x, std::size_t y, std::size_t z, std::size_t pitch,
                     std::size_t rows) { return (z * rows + y) * pitch + x; };
  const auto end = [&](std::size_t x, std::size_t y, std::size_t z, std::size_t pitch,
                       std::size_t rows) {
    return at(x + copy.WidthInBytes - 1, y + copy.Height - 1, z + copy.Depth - 1, pitch, rows) + 1;
  };
  const bool inside =
      end(copy.srcXInBytes, copy.srcY, copy.srcZ, copy.srcPitch, copy.srcHeight) <= volume &&
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
      std::memcpy(&expected[at(copy.dstXInBytes, copy.dstY + y, copy.dstZ + z, copy.dstPitch,
                               copy.dstHeight)],
                  &source[at(copy.srcXInBytes, copy.srcY + y, copy.srcZ + z, copy.srcPitch,
                             copy.srcHeight)],
                  copy.WidthInBytes);
    }
  }
  RC_ASSERT(contents(to, volume) == expected);
  release(from);
  release(to);
}

}  // namespace
}  // namespace weir::embedded
