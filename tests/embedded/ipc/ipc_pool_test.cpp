// SPDX-License-Identifier: Apache-2.0
// ipc_pool_test.cpp - memory pools of another process: the pool by its file descriptor, its memory
// by export data.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "embedded/core/out_of_memory.hpp"
#include "embedded/memory/memory_fixture.hpp"
#include "embedded/model/ipc/shared_store.hpp"
#include "embedded/model/memory/pool/memory_pool.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"
#include "support/peer.hpp"

namespace weir::embedded {

namespace {

constexpr auto by_descriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

void* as_handle(int fd) { return reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)); }

CUmemoryPool make_pool(CUmemLocation at = {CU_MEM_LOCATION_TYPE_DEVICE, 0}) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.handleTypes = by_descriptor;
  props.location = at;
  CUmemoryPool pool = nullptr;
  driver.cuMemPoolCreate(&pool, &props);
  return pool;
}

// Sends a pool, then obeys commands: 'a' sends export data of memory filled with 0, 1, 2..., 'r'
// sends the first word of the last allocation, 'f' sends the result of freeing it; anything else
// exits.
void own_pool(const test::peer_channel& test, CUmemLocation at) {
  CUcontext context = nullptr;
  driver.cuInit(0);
  driver.cuDevicePrimaryCtxRetain(&context, 0);
  driver.cuCtxSetCurrent(context);
  CUmemoryPool pool = make_pool(at);
  int fd = -1;
  driver.cuMemPoolExportToShareableHandle(&fd, pool, by_descriptor, 0);
  test.send_descriptor(fd);
  close(fd);
  CUdeviceptr memory = 0;
  for (char ask = 0; test.try_receive(ask);) {
    if (ask == 'a') {
      driver.cuMemAllocFromPoolAsync(&memory, 4096, pool, nullptr);
      std::iota(words_at(memory), words_at(memory) + 1024, 0u);
      CUmemPoolPtrExportData data{};
      driver.cuMemPoolExportPointer(&data, memory);
      test.send(data);
    } else if (ask == 'r') {
      test.send(*words_at(memory));
    } else if (ask == 'f') {
      test.send(driver.cuMemFree_v2(memory));
    } else {
      return;
    }
  }
}

WEIR_PEER_ROLE(pool_owner) { own_pool(test, {CU_MEM_LOCATION_TYPE_DEVICE, 0}); }
WEIR_PEER_ROLE(host_pool_owner) { own_pool(test, {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}); }

class IpcPool : public memory_test {
 protected:
  void SetUp() override {
    memory_test::SetUp();
    const int fd = owner_.receive_descriptor();
    ASSERT_EQ(driver.cuMemPoolImportFromShareableHandle(&pool_, as_handle(fd), by_descriptor, 0),
              CUDA_SUCCESS);
    close(fd);
  }
  void TearDown() override {
    EXPECT_EQ(driver.cuMemPoolDestroy(pool_), CUDA_SUCCESS);
    memory_test::TearDown();
  }
  CUmemPoolPtrExportData allocated_there() const {
    owner_.send('a');
    return owner_.receive<CUmemPoolPtrExportData>();
  }
  CUdeviceptr imported(CUmemPoolPtrExportData data) const {
    CUdeviceptr address = 0;
    EXPECT_EQ(driver.cuMemPoolImportPointer(&address, pool_, &data), CUDA_SUCCESS);
    return address;
  }

  test::peer owner_{"pool_owner"};
  CUmemoryPool pool_ = nullptr;
};

TEST_F(IpcPool, AnImportedPoolOpensMemoryOfTheOtherProcess) {
  const CUdeviceptr here = imported(allocated_there());
  EXPECT_EQ(words_at(here)[1023], 1023u);
  const test_stream stream;
  EXPECT_EQ(driver.cuMemsetD32Async(here, 9, 1, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFreeAsync(here, stream), CUDA_SUCCESS);
  stream.synchronize();
  owner_.send('r');
  EXPECT_EQ(owner_.receive<std::uint32_t>(), 9u);
  EXPECT_EQ(driver.cuMemFree_v2(here), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(IpcPool, MemoryStaysMappedUntilTheStreamOrderedFreeRuns) {
  const CUdeviceptr here = imported(allocated_there());
  const test_stream stream;
  stream_gate gate{stream};
  EXPECT_EQ(driver.cuMemsetD32Async(here, 5, 1024, stream), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFreeAsync(here, stream), CUDA_SUCCESS);
  gate.open();
  stream.synchronize();
  owner_.send('r');
  EXPECT_EQ(owner_.receive<std::uint32_t>(), 5u);
}

TEST_F(IpcPool, MemoryOutlivesItsProcess) {
  const CUdeviceptr here = imported(allocated_there());
  owner_.send('e');
  EXPECT_EQ(owner_.wait(), 0);
  EXPECT_EQ(words_at(here)[7], 7u);
  EXPECT_EQ(driver.cuMemFree_v2(here), CUDA_SUCCESS);
}

TEST_F(IpcPool, APoolIsNotDestroyedWhileItsMemoryIsOpen) {
  const CUdeviceptr here = imported(allocated_there());
  EXPECT_EQ(driver.cuMemPoolDestroy(pool_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemFree_v2(here), CUDA_SUCCESS);
}

TEST_F(IpcPool, EachImportNeedsADestroy) {
  const test::peer other{"pool_owner"};
  const int fd = other.receive_descriptor();
  CUmemoryPool first = nullptr, second = nullptr, anew = nullptr;
  ASSERT_EQ(driver.cuMemPoolImportFromShareableHandle(&first, as_handle(fd), by_descriptor, 0),
            CUDA_SUCCESS);
  ASSERT_EQ(driver.cuMemPoolImportFromShareableHandle(&second, as_handle(fd), by_descriptor, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(first, second);
  EXPECT_EQ(driver.cuMemPoolDestroy(first), CUDA_SUCCESS);
  other.send('a');
  auto data = other.receive<CUmemPoolPtrExportData>();
  CUdeviceptr here = 0;
  ASSERT_EQ(driver.cuMemPoolImportPointer(&here, second, &data), CUDA_SUCCESS);
  EXPECT_EQ(words_at(here)[100], 100u);
  EXPECT_EQ(driver.cuMemFree_v2(here), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemPoolDestroy(second), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemPoolDestroy(second), CUDA_ERROR_INVALID_VALUE);

  ASSERT_EQ(driver.cuMemPoolImportFromShareableHandle(&anew, as_handle(fd), by_descriptor, 0),
            CUDA_SUCCESS);
  close(fd);
  EXPECT_EQ(driver.cuMemPoolDestroy(anew), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemPoolDestroy(anew), CUDA_ERROR_INVALID_VALUE) << "its count began anew";
}

TEST_F(IpcPool, APoolIsImportedAfterItsProcessEnded) {
  test::peer other{"pool_owner"};
  const int fd = other.receive_descriptor();
  other.send('a');
  auto data = other.receive<CUmemPoolPtrExportData>();
  other.send('e');
  EXPECT_EQ(other.wait(), 0);
  CUmemoryPool late = nullptr;
  ASSERT_EQ(driver.cuMemPoolImportFromShareableHandle(&late, as_handle(fd), by_descriptor, 0),
            CUDA_SUCCESS);
  close(fd);
  CUdeviceptr here = 0;
  ASSERT_EQ(driver.cuMemPoolImportPointer(&here, late, &data), CUDA_SUCCESS);
  EXPECT_EQ(words_at(here)[100], 100u);
  EXPECT_EQ(driver.cuMemFree_v2(here), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemPoolDestroy(late), CUDA_SUCCESS);
}

// The segment looks like a pool, but its creator could truncate it while it is in use.
TEST_F(IpcPool, AnUnsealedSegmentIsRefused) {
  CUmemoryPool own = make_pool();
  int fd = -1;
  ASSERT_EQ(driver.cuMemPoolExportToShareableHandle(&fd, own, by_descriptor, 0), CUDA_SUCCESS);
  std::vector<char> header(sizeof(model::store_header));
  ASSERT_EQ(pread(fd, header.data(), header.size(), 0), static_cast<ssize_t>(header.size()));
  close(fd);
  const int copy = memfd_create("weir-test", MFD_CLOEXEC);
  ASSERT_EQ(pwrite(copy, header.data(), header.size(), 0), static_cast<ssize_t>(header.size()));
  CUmemoryPool none = nullptr;
  EXPECT_EQ(driver.cuMemPoolImportFromShareableHandle(&none, as_handle(copy), by_descriptor, 0),
            CUDA_ERROR_UNKNOWN);
  close(copy);
  EXPECT_EQ(driver.cuMemPoolDestroy(own), CUDA_SUCCESS);
}

TEST_F(IpcPool, AnImportedPoolRefusesAllocations) {
  CUdeviceptr none = 0;
  EXPECT_NE(driver.cuMemAllocFromPoolAsync(&none, 64, pool_, nullptr), CUDA_SUCCESS);
}

TEST_F(IpcPool, AnImportedPoolRefusesMemoryOfOtherPools) {
  const test::peer other{"pool_owner"};
  close(other.receive_descriptor());
  other.send('a');
  auto data = other.receive<CUmemPoolPtrExportData>();
  CUdeviceptr none = 0;
  EXPECT_NE(driver.cuMemPoolImportPointer(&none, pool_, &data), CUDA_SUCCESS);
}

// An imported host pool is host memory: synchronous copies wait for completion.
TEST_F(IpcPool, AnImportedHostPoolHoldsHostMemory) {
  const test::peer other{"host_pool_owner"};
  const int fd = other.receive_descriptor();
  CUmemoryPool pool = nullptr;
  ASSERT_EQ(driver.cuMemPoolImportFromShareableHandle(&pool, as_handle(fd), by_descriptor, 0),
            CUDA_SUCCESS);
  close(fd);
  other.send('a');
  auto data = other.receive<CUmemPoolPtrExportData>();
  CUdeviceptr here = 0;
  ASSERT_EQ(driver.cuMemPoolImportPointer(&here, pool, &data), CUDA_SUCCESS);
  CUmemorytype type{};
  EXPECT_EQ(driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, here),
            CUDA_SUCCESS);
  EXPECT_EQ(type, CU_MEMORYTYPE_HOST);
  CUdeviceptr device_memory = 0;
  ASSERT_EQ(driver.cuMemAlloc_v2(&device_memory, 4096), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemsetD32_v2(device_memory, 3, 1024), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemcpy(here, device_memory, 4096), CUDA_SUCCESS);
  EXPECT_EQ(words_at(here)[1023], 3u);
  EXPECT_EQ(driver.cuMemFree_v2(device_memory), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree_v2(here), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemPoolDestroy(pool), CUDA_SUCCESS);
}

// A free that runs out of memory frees nothing: the memory stays valid and can be freed again.
TEST_F(IpcPool, AFailedFreeFreesNothing) {
  const CUmemPoolPtrExportData data = allocated_there();
  const test_stream stream;
  {
    const stream_gate gate{stream};  // leaves the engine room for what it keeps
    EXPECT_EQ(driver.cuMemFreeAsync(imported(data), stream), CUDA_SUCCESS);
  }
  stream.synchronize();
  const CUdeviceptr here = imported(data);
  stream_gate gate{stream};
  CUresult status = CUDA_ERROR_OUT_OF_MEMORY;
  for (int room = 0; status != CUDA_SUCCESS; ++room) {
    EXPECT_EQ(words_at(here)[9], 9u);
    const out_of_memory after{room};
    status = driver.cuMemFreeAsync(here, stream);
  }
  EXPECT_EQ(words_at(here)[9], 9u);
  gate.open();
  stream.synchronize();
}

// Either the pool is destroyed or its memory is opened, if two threads race.
TEST_F(IpcPool, APoolIsDestroyedOrOpenedAtomically) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.handleTypes = by_descriptor;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemoryPool own = nullptr;
  ASSERT_EQ(driver.cuMemPoolCreate(&own, &props), CUDA_SUCCESS);
  int fd = -1;
  ASSERT_EQ(driver.cuMemPoolExportToShareableHandle(&fd, own, by_descriptor, 0), CUDA_SUCCESS);
  CUdeviceptr there = 0;
  const test_stream stream;
  ASSERT_EQ(driver.cuMemAllocFromPoolAsync(&there, 4096, own, stream), CUDA_SUCCESS);
  CUmemPoolPtrExportData data{};
  ASSERT_EQ(driver.cuMemPoolExportPointer(&data, there), CUDA_SUCCESS);

  constexpr int rounds = 4000;
  CUmemoryPool imported_here = nullptr;
  CUresult ended = CUDA_SUCCESS;
  std::atomic<int> round{0};
  std::atomic<int> ended_rounds{0};
  std::thread ending{[&] {
    for (int i = 1; i <= rounds; ++i) {
      for (int looks = 0; round.load() != i; ++looks) {
        if (looks > 100'000) std::this_thread::yield();  // delayed, so that the calls overlap
      }
      ended = driver.cuMemPoolDestroy(imported_here);
      ended_rounds.store(i);
    }
  }};
  for (int i = 1; i <= rounds; ++i) {
    ASSERT_EQ(
        driver.cuMemPoolImportFromShareableHandle(&imported_here, as_handle(fd), by_descriptor, 0),
        CUDA_SUCCESS);
    round.store(i);
    CUdeviceptr here = 0;
    const CUresult opened = driver.cuMemPoolImportPointer(&here, imported_here, &data);
    while (ended_rounds.load() != i) std::this_thread::yield();
    EXPECT_NE(opened == CUDA_SUCCESS, ended == CUDA_SUCCESS) << opened << ' ' << ended;
    if (opened == CUDA_SUCCESS) {
      EXPECT_EQ(driver.cuMemFree_v2(here), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuMemPoolDestroy(imported_here), CUDA_SUCCESS);
    }
  }
  ending.join();

  // A pool that is being destroyed opens nothing.
  ASSERT_EQ(
      driver.cuMemPoolImportFromShareableHandle(&imported_here, as_handle(fd), by_descriptor, 0),
      CUDA_SUCCESS);
  EXPECT_TRUE(model::pool_registry::find(imported_here)->sharing.end_import());
  CUdeviceptr none = 0;
  EXPECT_EQ(driver.cuMemPoolImportPointer(&none, imported_here, &data), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemPoolDestroy(imported_here), CUDA_SUCCESS);
  close(fd);
  EXPECT_EQ(driver.cuMemFreeAsync(there, stream), CUDA_SUCCESS);
  stream.synchronize();
  EXPECT_EQ(driver.cuMemPoolDestroy(own), CUDA_SUCCESS);
}

// Memory of another thread may get the addresses of a completed free, and is found there.
TEST_F(IpcPool, MemoryAtReusedAddressesIsFound) {
  const CUmemPoolPtrExportData data = allocated_there();
  std::atomic<bool> over{false};
  std::thread other{[&, context = current_context()] {
    EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    while (!over.load()) {
      CUdeviceptr mine = 0;
      EXPECT_EQ(driver.cuMemAlloc_v2(&mine, 4096), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuMemFree_v2(mine), CUDA_SUCCESS);
    }
    model::this_thread().stack.clear();
  }};
  const test_stream stream;
  for (int round = 0; round < 3000; ++round) {
    const CUdeviceptr here = imported(data);
    EXPECT_EQ(driver.cuMemsetD32Async(here, 1, 1024, stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemFreeAsync(here, stream), CUDA_SUCCESS);
  }
  over.store(true);
  other.join();
  stream.synchronize();
}

}  // namespace

}  // namespace weir::embedded
