// SPDX-License-Identifier: Apache-2.0
// freed_memory_test.cpp - memory that the program frees while work of another context may use it.
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <functional>

#include "memory_fixture.hpp"
#include "support/fresh_process.hpp"

namespace weir::embedded {
namespace {

constexpr std::size_t bytes = std::size_t{4} << 20;

// The primary context of device 0, and another context with a stream. The stream waits in a host
// function until the gate opens.
struct two_contexts {
  two_contexts() {
    driver.cuInit(0);
    driver.cuDevicePrimaryCtxRetain(&home, 0);
    driver.cuCtxCreate_v4(&other, nullptr, 0, 0);
    driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    driver.cuMemAlloc_v2(&buffer, bytes);
    driver.cuLaunchHostFunc(
        stream, [](void* open) { static_cast<std::atomic<bool>*>(open)->wait(false); }, &open);
    driver.cuCtxSetCurrent(home);
  }

  // Submits work to the other context, then removes the memory, then lets the work run. Returns the
  // result of the stream.
  CUresult result_of(const std::function<CUresult()>& work, const std::function<void()>& removal) {
    driver.cuCtxSetCurrent(other);
    if (const CUresult status = work()) return status;
    driver.cuCtxSetCurrent(home);
    removal();
    open.store(true);
    open.notify_all();
    driver.cuCtxSetCurrent(other);
    return driver.cuStreamSynchronize(stream);
  }

  CUcontext home = nullptr;
  CUcontext other = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr buffer = 0;
  std::atomic<bool> open{false};
};

// Memory of cuMemCreate, mapped into a range of its size.
CUdeviceptr map_memory() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = device_0;
  CUdeviceptr range = 0;
  CUmemGenericAllocationHandle memory = 0;
  driver.cuMemAddressReserve(&range, bytes, 0, 0, 0);
  driver.cuMemCreate(&memory, bytes, &properties, 0);
  driver.cuMemMap(range, bytes, 0, memory, 0);
  driver.cuMemSetAccess(range, bytes, &device_0_access, 1);
  driver.cuMemRelease(memory);
  return range;
}

using work = CUresult (*)(const two_contexts& c, CUdeviceptr memory);

CUresult copy_to(const two_contexts& c, CUdeviceptr memory) {
  return driver.cuMemcpyAsync(memory, c.buffer, bytes, c.stream);
}
CUresult copy_from(const two_contexts& c, CUdeviceptr memory) {
  return driver.cuMemcpyAsync(c.buffer, memory, bytes, c.stream);
}
CUresult copy_rows(const two_contexts& c, CUdeviceptr memory) {
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.srcDevice = c.buffer;
  rows.dstDevice = memory;
  rows.srcPitch = rows.dstPitch = 1024;
  rows.WidthInBytes = 512;
  rows.Height = 16;
  return driver.cuMemcpy2DAsync_v2(&rows, c.stream);
}
CUresult set(const two_contexts& c, CUdeviceptr memory) {
  return driver.cuMemsetD8Async(memory, 1, bytes, c.stream);
}
CUresult set_rows(const two_contexts& c, CUdeviceptr memory) {
  return driver.cuMemsetD2D8Async(memory, 1024, 1, 512, 16, c.stream);
}
CUresult write_word(const two_contexts& c, CUdeviceptr memory) {
  return driver.cuStreamWriteValue32_v2(c.stream, memory, 1, 0);
}
CUresult wait_for_word(const two_contexts& c, CUdeviceptr memory) {
  return driver.cuStreamWaitValue32_v2(c.stream, memory, 1, CU_STREAM_WAIT_VALUE_EQ);
}
CUresult launch_graph(const two_contexts& c, CUdeviceptr memory) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  CUDA_MEMSET_NODE_PARAMS params{};
  params.dst = memory;
  params.elementSize = 1;
  params.height = 1;
  params.width = bytes;
  driver.cuGraphCreate(&graph, 0);
  driver.cuGraphAddMemsetNode(&node, graph, nullptr, 0, &params, c.other);
  driver.cuGraphInstantiateWithFlags(&exec, graph, 0);
  return driver.cuGraphLaunch(exec, c.stream);
}

class FreedMemory : public testing::TestWithParam<work> {};
INSTANTIATE_TEST_SUITE_P(, FreedMemory,
                         testing::Values(copy_to, copy_from, copy_rows, set, set_rows, write_word,
                                         wait_for_word, launch_graph));

TEST_P(FreedMemory, WorkOnUnmappedMemoryFails) {
  test::in_a_fresh_process([] {
    two_contexts c;
    const CUdeviceptr memory = map_memory();
    return WEIR_HOLDS(c.result_of([&] { return GetParam()(c, memory); },
                                  [&] {
                                    driver.cuMemUnmap(memory, bytes);
                                    driver.cuMemAddressFree(memory, bytes);
                                  }) == CUDA_ERROR_ILLEGAL_ADDRESS);
  });
}

TEST_P(FreedMemory, WorkOnFreedPinnedMemoryFails) {
  test::in_a_fresh_process([] {
    two_contexts c;
    void* memory = nullptr;
    driver.cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE);
    return WEIR_HOLDS(c.result_of([&] { return GetParam()(c, address_of(memory)); },
                                  [&] { driver.cuMemFreeHost(memory); }) ==
                      CUDA_ERROR_LAUNCH_FAILED);
  });
}

TEST_P(FreedMemory, WorkOnUnregisteredAndUnmappedMemoryFails) {
  test::in_a_fresh_process([] {
    two_contexts c;
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    driver.cuMemHostRegister_v2(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE);
    return WEIR_HOLDS(c.result_of([&] { return GetParam()(c, address_of(memory)); },
                                  [&] {
                                    driver.cuMemHostUnregister(memory);
                                    // Unmaps the memory, and keeps its addresses from other
                                    // threads.
                                    mmap(memory, bytes, PROT_NONE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
                                  }) == CUDA_ERROR_LAUNCH_FAILED);
  });
}

// A free of device memory waits on a GPU. Here the work of the other context goes on with the
// memory, which no other allocation gets meanwhile.
TEST_P(FreedMemory, WorkOnFreedDeviceMemoryTouchesNoOtherMemory) {
  if (GetParam() == wait_for_word) return;  // nothing writes the word
  for (const std::size_t size : {bytes, std::size_t{16384}}) {
    test::in_a_fresh_process([size] {
      two_contexts c;
      CUdeviceptr memory = 0;
      CUdeviceptr next = 0;
      driver.cuMemAlloc_v2(&memory, bytes);
      const auto removal = [&] {
        driver.cuMemFree_v2(memory);
        driver.cuMemAlloc_v2(&next, size);
      };
      return WEIR_HOLDS(c.result_of([&] { return GetParam()(c, memory); }, removal) ==
                        CUDA_SUCCESS) &&
             WEIR_HOLDS(next != memory);
    });
  }
}

// Returns the result of a copy into memory of a pool whose pool goes meanwhile.
CUresult result_of_pool_removal(void (*removal)(CUmemoryPool pool)) {
  two_contexts c;
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = device_0;
  CUmemoryPool pool = nullptr;
  CUdeviceptr memory = 0;
  cuuint64_t all = ~cuuint64_t{0};
  driver.cuMemPoolCreate(&pool, &properties);
  driver.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all);
  driver.cuMemAllocFromPoolAsync(&memory, bytes, pool, nullptr);
  driver.cuStreamSynchronize(nullptr);
  return c.result_of([&] { return copy_to(c, memory); },
                     [&] {
                       driver.cuMemFreeAsync(memory, nullptr);
                       driver.cuStreamSynchronize(nullptr);
                       removal(pool);
                     });
}

TEST(FreedPoolMemory, WorkOnMemoryOfADestroyedPoolFails) {
  test::in_a_fresh_process([] {
    return WEIR_HOLDS(result_of_pool_removal([](CUmemoryPool pool) {
                        driver.cuMemPoolDestroy(pool);
                      }) == CUDA_ERROR_ILLEGAL_ADDRESS);
  });
}

TEST(FreedPoolMemory, WorkOnTrimmedMemoryFails) {
  test::in_a_fresh_process([] {
    return WEIR_HOLDS(result_of_pool_removal([](CUmemoryPool pool) {
                        driver.cuMemPoolTrimTo(pool, 0);
                      }) == CUDA_ERROR_ILLEGAL_ADDRESS);
  });
}

// The pool may use trimmed chunks again, which are accessible then.
TEST(FreedPoolMemory, ATrimmedPoolAllocatesAgain) {
  two_contexts c;
  CUmemoryPool pool = nullptr;
  CUdeviceptr memory = 0;
  driver.cuDeviceGetDefaultMemPool(&pool, 0);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(driver.cuMemAllocAsync(&memory, bytes, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemsetD8Async(memory, 1, bytes, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemFreeAsync(memory, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(nullptr), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemPoolTrimTo(pool, 0), CUDA_SUCCESS);
  }
  c.open.store(true);
  c.open.notify_all();
  EXPECT_EQ(driver.cuCtxDestroy_v2(c.other), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
  model::this_thread().stack.clear();
}

// Memory that is freed between two launches makes the second one fail, also if the addresses are
// those of small blocks, which stay accessible.
TEST(FreedGraphOperands, ALaunchOnFreedMemoryFails) {
  test::in_a_fresh_process([] {
    CUcontext context = nullptr;
    driver.cuInit(0);
    driver.cuDevicePrimaryCtxRetain(&context, 0);
    driver.cuCtxSetCurrent(context);
    CUdeviceptr memory = 0;
    CUdeviceptr unrelated = 0;
    driver.cuMemAlloc_v2(&memory, 64);
    driver.cuMemAlloc_v2(&unrelated, 64);
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    CUgraphExec exec = nullptr;
    CUDA_MEMSET_NODE_PARAMS params{};
    params.dst = memory;
    params.elementSize = 1;
    params.height = 1;
    params.width = 64;
    driver.cuGraphCreate(&graph, 0);
    driver.cuGraphAddMemsetNode(&node, graph, nullptr, 0, &params, context);
    driver.cuGraphInstantiateWithFlags(&exec, graph, 0);
    driver.cuMemFree_v2(unrelated);
    const auto launch = [&] {
      driver.cuGraphLaunch(exec, nullptr);
      return driver.cuCtxSynchronize();
    };
    if (!WEIR_HOLDS(launch() == CUDA_SUCCESS)) return false;
    driver.cuMemFree_v2(memory);
    return WEIR_HOLDS(launch() == CUDA_ERROR_ILLEGAL_ADDRESS);
  });
}

}  // namespace
}  // namespace weir::embedded
