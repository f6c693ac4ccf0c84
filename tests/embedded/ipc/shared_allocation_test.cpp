// SPDX-License-Identifier: Apache-2.0
// shared_allocation_test.cpp - one allocation in two processes that share only a file descriptor.
#include <unistd.h>

#include <cstddef>
#include <cstdint>

#include "embedded/memory/memory_fixture.hpp"
#include "support/peer.hpp"

namespace weir::embedded {
namespace {

constexpr std::size_t piece = std::size_t{2} << 20;
constexpr auto as_descriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

CUmemAllocationProp shareable() {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.requestedHandleTypes = as_descriptor;
  wanted.location = device_0;
  return wanted;
}

CUdeviceptr map_anywhere(CUmemGenericAllocationHandle memory, std::size_t bytes) {
  const CUmemAccessDesc access{device_0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUdeviceptr start = 0;
  driver.cuMemAddressReserve(&start, bytes, 0, 0, 0);
  driver.cuMemMap(start, bytes, 0, memory, 0);
  driver.cuMemSetAccess(start, bytes, &access, 1);
  return start;
}

// The results from the other process.
struct report {
  CUresult imported, set;
  CUmemAllocationHandleType handle_types;
  std::uint32_t seen;
};

// Imports a file descriptor, reads a word and writes the next one.
WEIR_PEER_ROLE(importer) {
  const int descriptor = test.receive_descriptor();
  CUcontext context = nullptr;
  driver.cuInit(0);
  driver.cuDevicePrimaryCtxRetain(&context, 0);
  driver.cuCtxSetCurrent(context);
  report said{};
  CUmemGenericAllocationHandle memory = 0;
  auto* const handle = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
  said.imported = driver.cuMemImportFromShareableHandle(&memory, handle, as_descriptor);
  CUmemAllocationProp told{};
  driver.cuMemGetAllocationPropertiesFromHandle(&told, memory);
  said.handle_types = told.requestedHandleTypes;
  const CUdeviceptr there = map_anywhere(memory, piece);
  said.seen = words_at(there)[0];
  said.set = driver.cuMemsetD32_v2(there + 4, said.seen + 1, 1);
  driver.cuCtxSynchronize();
  test.send(said);
}

// Maps a part of a file descriptor as external memory and writes a word there.
WEIR_PEER_ROLE(external_importer) {
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC what{};
  what.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
  what.handle.fd = test.receive_descriptor();
  what.size = piece;
  CUcontext context = nullptr;
  driver.cuInit(0);
  driver.cuDevicePrimaryCtxRetain(&context, 0);
  driver.cuCtxSetCurrent(context);
  CUexternalMemory memory = nullptr;
  report said{};
  said.imported = driver.cuImportExternalMemory(&memory, &what);
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC whole{};
  whole.size = piece;
  CUdeviceptr there = 0;
  driver.cuExternalMemoryGetMappedBuffer(&there, memory, &whole);
  said.seen = words_at(there)[0];
  said.set = driver.cuMemsetD32_v2(there + 4, said.seen + 1, 1);
  driver.cuMemFree_v2(there);
  driver.cuDestroyExternalMemory(memory);
  test.send(said);
}

class SharedAllocation : public memory_test {
 protected:
  void SetUp() override {
    memory_test::SetUp();
    const CUmemAllocationProp wanted = shareable();
    ASSERT_EQ(driver.cuMemCreate(&memory, piece, &wanted, 0), CUDA_SUCCESS);
    address = map_anywhere(memory, piece);
    words_at(address)[0] = 41;
  }
  void TearDown() override {
    EXPECT_EQ(driver.cuMemUnmap(address, piece), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemRelease(memory), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemAddressFree(address, piece), CUDA_SUCCESS);
    memory_test::TearDown();
  }

  void hand_to(const test::peer& other) const {
    int descriptor = -1;
    ASSERT_EQ(driver.cuMemExportToShareableHandle(&descriptor, memory, as_descriptor, 0),
              CUDA_SUCCESS);
    other.send_descriptor(descriptor);
    close(descriptor);
  }

  CUmemGenericAllocationHandle memory = 0;
  CUdeviceptr address = 0;
};

TEST_F(SharedAllocation, TwoProcessesShareAnAllocation) {
  test::peer other{"importer"};
  hand_to(other);
  const auto said = other.receive<report>();
  EXPECT_EQ(said.imported, CUDA_SUCCESS);
  EXPECT_EQ(said.handle_types, CU_MEM_HANDLE_TYPE_NONE);  // an import cannot be exported again
  EXPECT_EQ(said.seen, 41u);
  EXPECT_EQ(said.set, CUDA_SUCCESS);
  EXPECT_EQ(other.wait(), 0);
  EXPECT_EQ(words_at(address)[1], 42u);
}

TEST_F(SharedAllocation, AnotherProcessImportsAnAllocationAsExternalMemory) {
  test::peer other{"external_importer"};
  hand_to(other);
  const auto said = other.receive<report>();
  EXPECT_EQ(said.imported, CUDA_SUCCESS);
  EXPECT_EQ(said.seen, 41u);
  EXPECT_EQ(said.set, CUDA_SUCCESS);
  EXPECT_EQ(other.wait(), 0);
  EXPECT_EQ(words_at(address)[1], 42u);
}

}  // namespace
}  // namespace weir::embedded
