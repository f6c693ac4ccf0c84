// SPDX-License-Identifier: Apache-2.0
// device_access_test.cpp - which devices may use another device's memory. tests/conformance (two.)
// records the answers of two H200s.
#include <array>
#include <cstddef>

#include "embedded/memory/memory_fixture.hpp"

namespace weir::embedded {
namespace {

constexpr std::size_t bytes = 4096;
constexpr std::size_t piece = std::size_t{2} << 20;

CUmemAccessDesc access_of(CUdevice device,
                          CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
  return {{CU_MEM_LOCATION_TYPE_DEVICE, device}, flags};
}

// Device 0's context is current; `there` is device 1's.
class DeviceAccess : public memory_test {
 protected:
  void SetUp() override {
    memory_test::SetUp();
    int count = 0;
    ASSERT_EQ(driver.cuDeviceGetCount(&count), CUDA_SUCCESS);
    if (count < 2) GTEST_SKIP() << "one device";
    ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&there, 1), CUDA_SUCCESS);
    enter(there);
    EXPECT_EQ(driver.cuStreamCreate(&far_stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    leave();
  }
  void TearDown() override {
    if (there != nullptr) {
      EXPECT_EQ(driver.cuStreamDestroy_v2(far_stream), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(1), CUDA_SUCCESS);
    }
    memory_test::TearDown();
  }

  static void enter(CUcontext context) {
    EXPECT_EQ(driver.cuCtxPushCurrent_v2(context), CUDA_SUCCESS);
  }
  static void leave() { EXPECT_EQ(driver.cuCtxPopCurrent_v2(nullptr), CUDA_SUCCESS); }

  CUcontext there = nullptr;
  CUstream far_stream = nullptr;
};

// Without a current context, the stream's device makes the copy.
TEST_F(DeviceAccess, TheDeviceOfTheStreamCopiesWithoutACurrentContext) {
  const test_stream near;
  const pinned_block host{bytes};
  CUdeviceptr far = 0;
  ASSERT_EQ(driver.cuMemAllocAsync(&far, bytes, far_stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemcpyDtoHAsync_v2(host.get(), far, bytes, far_stream),
            CUDA_ERROR_INVALID_VALUE);
  const CUcontext here = current_context();
  leave();
  EXPECT_EQ(driver.cuMemcpyDtoHAsync_v2(host.get(), far, bytes, far_stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemcpyDtoHAsync_v2(host.get(), far, bytes, near), CUDA_ERROR_INVALID_VALUE);
  enter(here);
  EXPECT_EQ(driver.cuMemFreeAsync(far, far_stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(far_stream), CUDA_SUCCESS);
}

// A range that spans two mappings is accessible only if both are.
TEST_F(DeviceAccess, EachMappingOfARangeIsChecked) {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
  CUmemGenericAllocationHandle memory = 0;
  ASSERT_EQ(driver.cuMemCreate(&memory, piece, &wanted, 0), CUDA_SUCCESS);
  CUdeviceptr range = 0;
  ASSERT_EQ(driver.cuMemAddressReserve(&range, 2 * piece, 0, 0, 0), CUDA_SUCCESS);
  const std::array both{access_of(0), access_of(1)};
  for (const CUdeviceptr address : {range, range + piece}) {
    ASSERT_EQ(driver.cuMemMap(address, piece, 0, memory, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuMemSetAccess(address, piece, both.data(), 2), CUDA_SUCCESS);
  }
  const CUdeviceptr across = range + piece - 64;
  EXPECT_EQ(driver.cuMemsetD8_v2(across, 1, 128), CUDA_SUCCESS);
  const CUmemAccessDesc none = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  ASSERT_EQ(driver.cuMemSetAccess(range + piece, piece, &none, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemsetD8_v2(across, 2, 128), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemsetD8_v2(across, 3, 64), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(),
            CUDA_SUCCESS);  // memsets of another context are not ordered after these
  enter(there);
  EXPECT_EQ(driver.cuMemsetD8_v2(across, 4, 128), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  leave();
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemUnmap(range, 2 * piece), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemAddressFree(range, 2 * piece), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemRelease(memory), CUDA_SUCCESS);
}

// A memset in an executable keeps access to the device of its memory. A graph with a memset of
// inaccessible memory cannot be instantiated.
TEST_F(DeviceAccess, AGraphIsNotInstantiatedAfterAccessIsRevoked) {
  CUmemoryPool pool = nullptr;
  ASSERT_EQ(driver.cuDeviceGetDefaultMemPool(&pool, 1), CUDA_SUCCESS);
  CUdeviceptr far = 0;
  ASSERT_EQ(driver.cuMemAllocAsync(&far, bytes, far_stream), CUDA_SUCCESS);
  const CUmemAccessDesc let = access_of(0);
  const CUmemAccessDesc none = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_NONE);
  CUgraph graph = nullptr;
  ASSERT_EQ(driver.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  CUgraphNode node = nullptr;
  CUDA_MEMSET_NODE_PARAMS params{};
  params.dst = far;
  params.elementSize = 1;
  params.width = bytes;
  params.height = 1;
  const CUcontext here = current_context();
  EXPECT_EQ(driver.cuGraphAddMemsetNode(&node, graph, nullptr, 0, &params, here),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemPoolSetAccess(pool, &let, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphAddMemsetNode(&node, graph, nullptr, 0, &params, here), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemPoolSetAccess(pool, &none, 1), CUDA_SUCCESS);
  CUgraphExec exec = nullptr;
  EXPECT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFreeAsync(far, far_stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(far_stream), CUDA_SUCCESS);
}

// A later node reuses memory that a node freed only if the same devices have access to both.
TEST_F(DeviceAccess, NodesShareMemoryOnlyForEqualAccess) {
  CUgraph graph = nullptr;
  ASSERT_EQ(driver.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  const CUmemAccessDesc let = access_of(1);
  CUgraphNode last = nullptr;
  const auto allocate = [&](bool for_both) {
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    params.bytesize = bytes;
    params.accessDescs = for_both ? &let : nullptr;
    params.accessDescCount = for_both ? 1 : 0;
    const CUgraphNode before = last;
    EXPECT_EQ(
        driver.cuGraphAddMemAllocNode(&last, graph, &before, before == nullptr ? 0 : 1, &params),
        CUDA_SUCCESS);
    const CUgraphNode made = last;
    EXPECT_EQ(driver.cuGraphAddMemFreeNode(&last, graph, &made, 1, params.dptr), CUDA_SUCCESS);
    return params.dptr;
  };
  const CUdeviceptr own = allocate(false);
  const CUdeviceptr shared = allocate(true);
  EXPECT_NE(shared, own);
  EXPECT_EQ(allocate(true), shared);
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
