// ipc_pool_test.cpp - memory pools of another process: the pool by its descriptor, memory of it by what describes it.
#include <sys/mman.h>
#include <unistd.h>

#include <numeric>
#include <vector>

#include "embedded/memory_fixture.hpp"
#include "embedded/model/shared_store.hpp"
#include "support/peer.hpp"

namespace weir::embedded {

namespace {

constexpr auto by_descriptor = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

void* as_handle(int fd) { return reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)); }

CUmemoryPool make_pool() {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.handleTypes = by_descriptor;
  props.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemoryPool pool = nullptr;
  driver.cuMemPoolCreate(&pool, &props);
  return pool;
}

// Sends a pool, then for each 'a' the description of memory that counts up, for each 'r' the first word of the last one,
// for each 'f' what freeing that says; anything else ends.
WEIR_PEER_ROLE(pool_owner) {
  CUcontext context = nullptr;
  driver.cuInit(0);
  driver.cuDevicePrimaryCtxRetain(&context, 0);
  driver.cuCtxSetCurrent(context);
  CUmemoryPool pool = make_pool();
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

class IpcPool : public memory_test {
 protected:
  void SetUp() override {
    memory_test::SetUp();
    const int fd = owner_.receive_descriptor();
    ASSERT_EQ(driver.cuMemPoolImportFromShareableHandle(&pool_, as_handle(fd), by_descriptor, 0), CUDA_SUCCESS);
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

TEST_F(IpcPool, GivesMemoryOfTheOtherProcess) {
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

TEST_F(IpcPool, MemoryIsThereUntilTheStreamThatFreesItComesToThat) {
  const CUdeviceptr here = imported(allocated_there());
  const test_stream stream;
  held gate{stream};
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

TEST_F(IpcPool, DoesNotEndWhileMemoryOfItIsInUse) {
  const CUdeviceptr here = imported(allocated_there());
  EXPECT_EQ(driver.cuMemPoolDestroy(pool_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuMemFree_v2(here), CUDA_SUCCESS);
}

TEST_F(IpcPool, IsOpenedByItsDescriptorAfterItsProcessHasEnded) {
  test::peer other{"pool_owner"};
  const int fd = other.receive_descriptor();
  other.send('a');
  auto data = other.receive<CUmemPoolPtrExportData>();
  other.send('e');
  EXPECT_EQ(other.wait(), 0);
  CUmemoryPool late = nullptr;
  ASSERT_EQ(driver.cuMemPoolImportFromShareableHandle(&late, as_handle(fd), by_descriptor, 0), CUDA_SUCCESS);
  close(fd);
  CUdeviceptr here = 0;
  ASSERT_EQ(driver.cuMemPoolImportPointer(&here, late, &data), CUDA_SUCCESS);
  EXPECT_EQ(words_at(here)[100], 100u);
  EXPECT_EQ(driver.cuMemFree_v2(here), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuMemPoolDestroy(late), CUDA_SUCCESS);
}

// It looks like a pool, but whoever made it could cut it short under those who use it.
TEST_F(IpcPool, IsNotOpenedFromASegmentThatMayShrink) {
  CUmemoryPool own = make_pool();
  int fd = -1;
  ASSERT_EQ(driver.cuMemPoolExportToShareableHandle(&fd, own, by_descriptor, 0), CUDA_SUCCESS);
  std::vector<char> front(sizeof(model::store_front));
  ASSERT_EQ(pread(fd, front.data(), front.size(), 0), static_cast<ssize_t>(front.size()));
  close(fd);
  const int copy = memfd_create("weir-test", MFD_CLOEXEC);
  ASSERT_EQ(pwrite(copy, front.data(), front.size(), 0), static_cast<ssize_t>(front.size()));
  CUmemoryPool none = nullptr;
  EXPECT_EQ(driver.cuMemPoolImportFromShareableHandle(&none, as_handle(copy), by_descriptor, 0), CUDA_ERROR_UNKNOWN);
  close(copy);
  EXPECT_EQ(driver.cuMemPoolDestroy(own), CUDA_SUCCESS);
}

TEST_F(IpcPool, AllocatesNothing) {
  CUdeviceptr none = 0;
  EXPECT_NE(driver.cuMemAllocFromPoolAsync(&none, 64, pool_, nullptr), CUDA_SUCCESS);
}

TEST_F(IpcPool, KnowsNothingOfOtherPoolsMemory) {
  const test::peer other{"pool_owner"};
  close(other.receive_descriptor());
  other.send('a');
  auto data = other.receive<CUmemPoolPtrExportData>();
  CUdeviceptr none = 0;
  EXPECT_NE(driver.cuMemPoolImportPointer(&none, pool_, &data), CUDA_SUCCESS);
}

}  // namespace

}  // namespace weir::embedded
