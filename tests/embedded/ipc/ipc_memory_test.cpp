// SPDX-License-Identifier: Apache-2.0
// ipc_memory_test.cpp - device memory of another process: what is shared, what is not, and when it
// ends.
#include <cstring>
#include <numeric>
#include <thread>

#include "embedded/memory/memory_fixture.hpp"
#include "support/peer.hpp"

namespace weir::embedded {

namespace {

void retain_context() {
  CUcontext context = nullptr;
  driver.cuInit(0);
  driver.cuDevicePrimaryCtxRetain(&context, 0);
  driver.cuCtxSetCurrent(context);
}

CUdeviceptr allocate(std::size_t bytes) {
  CUdeviceptr address = 0;
  driver.cuMemAlloc_v2(&address, bytes);
  return address;
}

CUipcMemHandle handle_of(CUdeviceptr address) {
  CUipcMemHandle handle{};
  driver.cuIpcGetMemHandle(&handle, address);
  return handle;
}

// Allocates as many words as it is sent, fills them with 0, 1, 2..., sends the handle, then obeys
// commands: 'r' sends the first word, 'f' frees, anything else exits.
WEIR_PEER_ROLE(memory_owner) {
  retain_context();
  const auto bytes = test.receive<std::size_t>();
  const CUdeviceptr memory = allocate(bytes);
  std::iota(words_at(memory), words_at(memory) + bytes / 4, 0u);
  test.send(handle_of(memory));
  for (char ask = 0; test.try_receive(ask);) {
    if (ask == 'r') {
      test.send(*words_at(memory));
    } else if (ask == 'f') {
      test.send(driver.cuMemFree_v2(memory));
    } else {
      return;
    }
  }
}

class IpcMemory : public memory_test {
 protected:
  static CUipcMemHandle made_by(const test::peer& owner, std::size_t bytes) {
    owner.send(bytes);
    return owner.receive<CUipcMemHandle>();
  }
  static CUresult open(const CUipcMemHandle& handle, CUdeviceptr& out) {
    return driver.cuIpcOpenMemHandle_v2(&out, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  }
  static CUdeviceptr opened(const CUipcMemHandle& handle) {
    CUdeviceptr address = 0;
    EXPECT_EQ(open(handle, address), CUDA_SUCCESS);
    return address;
  }
};

TEST_F(IpcMemory, TwoProcessesShareOneMemory) {
  const test::peer owner{"memory_owner"};
  const CUdeviceptr here = opened(made_by(owner, 64));
  EXPECT_EQ(words_at(here)[15], 15u);
  EXPECT_EQ(driver.cuMemsetD32_v2(here, 77, 1), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuCtxSynchronize(), CUDA_SUCCESS);
  owner.send('r');
  EXPECT_EQ(owner.receive<std::uint32_t>(), 77u);
  EXPECT_EQ(driver.cuIpcCloseMemHandle(here), CUDA_SUCCESS);
}

TEST_F(IpcMemory, MemoryOfManyHugePagesIsShared) {
  constexpr std::size_t bytes = (std::size_t{5} << 20) + 12;
  const test::peer owner{"memory_owner"};
  const CUdeviceptr here = opened(made_by(owner, bytes));
  for (std::uint32_t i = 0; i < bytes / 4; i += 1021) ASSERT_EQ(words_at(here)[i], i);
  EXPECT_EQ(words_at(here)[bytes / 4 - 1], bytes / 4 - 1);
  EXPECT_EQ(driver.cuIpcCloseMemHandle(here), CUDA_SUCCESS);
}

// Each process counts its own memory: opened memory does not count against the importer.
TEST_F(IpcMemory, OpenedMemoryIsNotCountedByTheImporter) {
  const std::size_t before = free_memory();
  const test::peer owner{"memory_owner"};
  const CUdeviceptr here = opened(made_by(owner, 1 << 20));
  EXPECT_EQ(free_memory(), before);
  EXPECT_EQ(driver.cuIpcCloseMemHandle(here), CUDA_SUCCESS);
}

TEST_F(IpcMemory, EachOpenNeedsAClose) {
  const test::peer owner{"memory_owner"};
  const CUipcMemHandle handle = made_by(owner, 4096);
  const CUdeviceptr first = opened(handle);
  EXPECT_EQ(opened(handle), first);
  EXPECT_EQ(driver.cuIpcCloseMemHandle(first), CUDA_SUCCESS);
  EXPECT_EQ(words_at(first)[3], 3u);
  EXPECT_EQ(driver.cuIpcCloseMemHandle(first), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuIpcCloseMemHandle(first), CUDA_ERROR_INVALID_VALUE);
}

// The last close waits for work. A process that opens the memory meanwhile gets the memory itself,
// not the mapping about to be removed.
TEST_F(IpcMemory, MemoryIsOpenedAgainDuringItsLastClose) {
  const test::peer owner{"memory_owner"};
  const CUipcMemHandle handle = made_by(owner, 4096);
  const CUdeviceptr going = opened(handle);
  const test_stream stream;
  stream_gate gate{stream};
  const CUcontext context = current_context();
  std::thread closing{[&] {
    EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuIpcCloseMemHandle(going), CUDA_SUCCESS);
  }};
  unsigned type = 0;
  while (driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, going) ==
         CUDA_SUCCESS) {
    std::this_thread::yield();
  }
  const CUdeviceptr here = opened(handle);
  gate.open();
  closing.join();
  EXPECT_NE(here, going);
  EXPECT_EQ(driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, here),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuIpcCloseMemHandle(here), CUDA_SUCCESS);
}

TEST_F(IpcMemory, OpenedMemoryOutlivesTheAllocatingProcess) {
  test::peer owner{"memory_owner"};
  const CUdeviceptr here = opened(made_by(owner, 8192));
  owner.send('e');
  EXPECT_EQ(owner.wait(), 0);
  EXPECT_EQ(words_at(here)[2047], 2047u);
  EXPECT_EQ(driver.cuIpcCloseMemHandle(here), CUDA_SUCCESS);
}

TEST_F(IpcMemory, FreedMemoryCannotBeOpened) {
  const test::peer owner{"memory_owner"};
  const CUipcMemHandle handle = made_by(owner, 4096);
  owner.send('f');
  ASSERT_EQ(owner.receive<CUresult>(), CUDA_SUCCESS);
  CUdeviceptr none = 0;
  EXPECT_NE(open(handle, none), CUDA_SUCCESS);
  EXPECT_EQ(none, 0u);
}

TEST_F(IpcMemory, MemoryOfAnEndedProcessCannotBeOpened) {
  test::peer owner{"memory_owner"};
  const CUipcMemHandle handle = made_by(owner, 4096);
  owner.send('e');
  EXPECT_EQ(owner.wait(), 0);
  CUdeviceptr none = 0;
  EXPECT_NE(open(handle, none), CUDA_SUCCESS);
}

// Any changed byte of a handle gives an error code.
TEST_F(IpcMemory, AForgedHandleIsRefused) {
  const test::peer owner{"memory_owner"};
  const CUipcMemHandle right = made_by(owner, 4096);
  for (std::size_t i = 0; i < 36; ++i) {
    CUipcMemHandle wrong = right;
    wrong.reserved[i] = static_cast<char>(wrong.reserved[i] ^ 0x41);
    CUdeviceptr none = 0;
    EXPECT_NE(open(wrong, none), CUDA_SUCCESS) << "byte " << i;
  }
}

TEST_F(IpcMemory, OpenedMemoryEndsWithItsContext) {
  const test::peer owner{"memory_owner"};
  const CUipcMemHandle handle = made_by(owner, 4096);
  CUcontext context = nullptr;
  ASSERT_EQ(driver.cuCtxCreate_v4(&context, nullptr, 0, 0), CUDA_SUCCESS);
  const CUdeviceptr here = opened(handle);
  EXPECT_EQ(driver.cuCtxDestroy_v2(context), CUDA_SUCCESS);
  unsigned type = 0;
  EXPECT_EQ(driver.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, here),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuIpcCloseMemHandle(here), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(IpcMemory, HandlesOfDistinctAllocationsDiffer) {
  const CUdeviceptr one = allocate(256);
  const CUdeviceptr two = allocate(256);
  const CUipcMemHandle first = handle_of(one);
  const CUipcMemHandle again = handle_of(one);
  const CUipcMemHandle second = handle_of(two);
  EXPECT_EQ(std::memcmp(&first, &again, sizeof first), 0);
  EXPECT_NE(std::memcmp(&first, &second, sizeof first), 0);
  EXPECT_EQ(driver.cuMemFree_v2(one), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemFree_v2(two), CUDA_SUCCESS);
}

TEST_F(IpcMemory, SlotsOfFreedAllocationsAreReused) {
  for (int i = 0; i < 40'000; ++i) {
    const CUdeviceptr memory = allocate(64);
    CUipcMemHandle handle;
    ASSERT_EQ(driver.cuIpcGetMemHandle(&handle, memory), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuMemFree_v2(memory), CUDA_SUCCESS);
  }
}

}  // namespace

}  // namespace weir::embedded
