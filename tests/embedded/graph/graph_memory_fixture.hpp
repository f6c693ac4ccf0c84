// SPDX-License-Identifier: Apache-2.0
// graph_memory_fixture.hpp - nodes that allocate and free, and how much device memory graphs use.
#pragma once

#include "graph_fixture.hpp"

#include <algorithm>
#include <bit>

namespace weir::embedded {

constexpr std::size_t kilo = 1024;

inline CUDA_MEM_ALLOC_NODE_PARAMS allocation_of(std::size_t bytes) {
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  params.bytesize = bytes;
  return params;
}

// A node that allocates, and the address of its memory.
struct allocated {
  CUgraphNode node = nullptr;
  CUdeviceptr at = 0;
};
inline allocated add_alloc(CUgraph to, std::size_t bytes, const test_graph::nodes& behind = {}) {
  CUDA_MEM_ALLOC_NODE_PARAMS params = allocation_of(bytes);
  allocated made;
  EXPECT_EQ(driver.cuGraphAddMemAllocNode(&made.node, to, behind.data(), behind.size(), &params),
            CUDA_SUCCESS);
  made.at = params.dptr;
  return made;
}
inline CUresult try_add_free(CUgraph to, CUdeviceptr what, const test_graph::nodes& behind = {}) {
  CUgraphNode made = nullptr;
  return driver.cuGraphAddMemFreeNode(&made, to, behind.data(), behind.size(), what);
}
inline CUgraphNode add_free(CUgraph to, CUdeviceptr what, const test_graph::nodes& behind = {}) {
  CUgraphNode made = nullptr;
  EXPECT_EQ(driver.cuGraphAddMemFreeNode(&made, to, behind.data(), behind.size(), what),
            CUDA_SUCCESS);
  return made;
}

// Base of tests of graph memory; the tests trim it at the end.
class graph_memory_test : public memory_test {
 protected:
  void SetUp() override {
    memory_test::SetUp();
    reset(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH);
    reset(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH);
  }
  void TearDown() override {
    device().release_memory(taken_);
    EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
    trim();
    EXPECT_EQ(used(), 0u);
    EXPECT_EQ(reserved(), 0u);
    memory_test::TearDown();
  }

  static std::size_t chunk() {
    return std::min(std::size_t{32} << 20, std::bit_floor(device().total_memory() / 8));
  }

  // Allocates all but `bytes` of the device's memory until the end of the test.
  void leave(std::size_t bytes) {
    device().release_memory(taken_);
    taken_ = free_memory() - bytes;
    ASSERT_TRUE(device().reserve_memory(taken_));
  }

  static void trim() { EXPECT_EQ(driver.cuDeviceGraphMemTrim(0), CUDA_SUCCESS); }
  static std::size_t get(CUgraphMem_attribute attribute) {
    cuuint64_t value = 0;
    EXPECT_EQ(driver.cuDeviceGetGraphMemAttribute(0, attribute, &value), CUDA_SUCCESS);
    return value;
  }
  static void reset(CUgraphMem_attribute high) {
    cuuint64_t zero = 0;
    EXPECT_EQ(driver.cuDeviceSetGraphMemAttribute(0, high, &zero), CUDA_SUCCESS);
  }
  static std::size_t used() { return get(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT); }
  static std::size_t reserved() { return get(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT); }

  static CUresult free_in(CUstream s, CUdeviceptr what) { return driver.cuMemFreeAsync(what, s); }
  static CUresult launch(CUgraphExec what, CUstream target_stream) {
    return driver.cuGraphLaunch(what, target_stream);
  }
  static std::uint32_t read(CUdeviceptr from) {
    std::uint32_t value = 0;
    EXPECT_EQ(driver.cuMemcpyDtoH_v2(&value, from, sizeof value), CUDA_SUCCESS);
    return value;
  }

 private:
  std::size_t taken_ = 0;
};

}  // namespace weir::embedded
