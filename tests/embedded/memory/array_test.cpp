// SPDX-License-Identifier: Apache-2.0
// array_test.cpp - arrays beyond the conformance probe: memory use and destruction.
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "embedded/memory/memory_fixture.hpp"

namespace weir::embedded {
namespace {

CUarray make_array(std::size_t width, std::size_t height, CUarray_format format,
                   unsigned channels) {
  const CUDA_ARRAY_DESCRIPTOR wanted{width, height, format, channels};
  CUarray made = nullptr;
  EXPECT_EQ(driver.cuArrayCreate_v2(&made, &wanted), CUDA_SUCCESS);
  return made;
}

class Arrays : public memory_test {};

// Every row of every slice of a box is at the position that its index gives.
TEST_F(Arrays, ABoxIsCopiedInAndOutUnchanged) {
  constexpr std::size_t width = 6, height = 5, depth = 4;
  const CUDA_ARRAY3D_DESCRIPTOR wanted{width, height, depth, CU_AD_FORMAT_UNSIGNED_INT16, 2, 0};
  CUarray array = nullptr;
  ASSERT_EQ(driver.cuArray3DCreate_v2(&array, &wanted), CUDA_SUCCESS);
  std::array<std::uint32_t, width * height * depth> in{};
  std::array<std::uint32_t, width * height * depth> out{};
  std::iota(in.begin(), in.end(), 1u);
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = in.data();
  copy.srcHeight = height;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.WidthInBytes = width * 4;
  copy.Height = height;
  copy.Depth = depth;
  EXPECT_EQ(driver.cuMemcpy3D_v2(&copy), CUDA_SUCCESS);

  CUDA_MEMCPY3D back{};
  back.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  back.srcArray = array;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = out.data();
  back.WidthInBytes = 4;
  back.Height = 1;
  back.Depth = 1;
  for (std::size_t z = 0; z < depth; ++z) {
    for (std::size_t y = 0; y < height; ++y) {
      for (std::size_t x = 0; x < width; ++x) {
        back.srcXInBytes = 4 * x;
        back.srcY = y;
        back.srcZ = z;
        ASSERT_EQ(driver.cuMemcpy3D_v2(&back), CUDA_SUCCESS);
        ASSERT_EQ(out[0], in[(z * height + y) * width + x]);
      }
    }
  }
  EXPECT_EQ(driver.cuArrayDestroy(array), CUDA_SUCCESS);
}

TEST_F(Arrays, ArraysCountAgainstTheMemoryOfTheirDevice) {
  const std::size_t free = free_memory();
  CUarray const array = make_array(1024, 1024, CU_AD_FORMAT_FLOAT, 1);
  EXPECT_LE(free_memory(), free - 1024 * 1024 * 4);
  EXPECT_EQ(driver.cuArrayDestroy(array), CUDA_SUCCESS);
  EXPECT_EQ(free_memory(), free);
}

TEST_F(Arrays, DestroyedArraysAreRefused) {
  CUarray const array = make_array(64, 0, CU_AD_FORMAT_UNSIGNED_INT8, 1);
  EXPECT_EQ(driver.cuArrayDestroy(array), CUDA_SUCCESS);
  CUDA_ARRAY_DESCRIPTOR said{};
  char byte = 0;
  EXPECT_NE(driver.cuArrayGetDescriptor_v2(&said, array), CUDA_SUCCESS);
  EXPECT_NE(driver.cuMemcpyHtoA_v2(array, 0, &byte, 1), CUDA_SUCCESS);
  EXPECT_NE(driver.cuArrayDestroy(array), CUDA_SUCCESS);
}

// The memory of an array has no device pointer.
TEST_F(Arrays, ArraysEndWithTheirContext) {
  CUcontext own = nullptr;
  ASSERT_EQ(driver.cuCtxCreate_v4(&own, nullptr, 0, 0), CUDA_SUCCESS);
  CUarray const array = make_array(64, 64, CU_AD_FORMAT_FLOAT, 4);
  EXPECT_EQ(driver.cuCtxDestroy_v2(own), CUDA_SUCCESS);
  CUDA_ARRAY_DESCRIPTOR said{};
  EXPECT_NE(driver.cuArrayGetDescriptor_v2(&said, array), CUDA_SUCCESS);
}

// A graph copies to the array at every launch.
TEST_F(Arrays, GraphsCopyToArrays) {
  CUarray const array = make_array(4, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1);
  const pinned_block in{16};
  const pinned_block out{16};
  auto* const words = static_cast<std::uint32_t*>(in.get());
  const test_stream s;
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemcpyHtoAAsync_v2(array, 0, in.get(), 16, s), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemcpyAtoHAsync_v2(out.get(), array, 4, 4, s), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(s, &graph), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  for (std::uint32_t round = 1; round <= 3; ++round) {
    words[1] = round;
    EXPECT_EQ(driver.cuGraphLaunch(exec, s), CUDA_SUCCESS);
    s.synchronize();
    EXPECT_EQ(*static_cast<std::uint32_t*>(out.get()), round);
  }
  EXPECT_EQ(driver.cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuArrayDestroy(array), CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
