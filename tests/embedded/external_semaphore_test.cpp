// external_semaphore_test.cpp - imported semaphores: descriptors, batches, captures, pages that outlive their handles.
#include <gtest/gtest.h>

#include <array>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver/semaphore_page.hpp"
#include "embedded/model/thread_state.hpp"
#include "embedded/table.hpp"

namespace weir::embedded {
using namespace abi;
using detail::semaphore_page;

namespace {

const detail::driver_table& driver = table();

class ExternalSemaphores : public testing::Test {
 protected:
  void SetUp() override {
    CUcontext primary = nullptr;
    ASSERT_EQ(driver.cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuCtxSetCurrent(primary), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(driver.cuStreamDestroy_v2(s), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    model::this_thread().stack.clear();
  }

  // A semaphore as any program makes one, and our own look at it.
  struct segment {
    int fd;
    semaphore_page* page;
  };
  static segment make(std::uint32_t kind, std::size_t bytes = semaphore_page::bytes) {
    const int fd = memfd_create("weir-test", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(fd, static_cast<off_t>(bytes)), 0);
    void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    auto* const page = static_cast<semaphore_page*>(mapped);
    page->mark = semaphore_page::known_mark;
    page->kind = kind;
    return {fd, page};
  }
  static CUresult import(int fd, CUexternalSemaphoreHandleType type, CUexternalSemaphore* out) {
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc{};
    desc.type = type;
    desc.handle.fd = fd;
    return driver.cuImportExternalSemaphore(out, &desc);
  }
  static CUexternalSemaphore imported(const segment& of) {
    CUexternalSemaphore made = nullptr;
    EXPECT_EQ(import(of.fd, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, &made), CUDA_SUCCESS);
    return made;
  }

  CUstream s = nullptr;
};

TEST_F(ExternalSemaphores, WhatIsTooSmallOrUnmarkedIsNone) {
  CUexternalSemaphore out = nullptr;
  const segment small = make(semaphore_page::timeline, 1024);
  EXPECT_EQ(import(small.fd, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, &out), CUDA_ERROR_UNKNOWN);
  const segment unmarked = make(semaphore_page::timeline);
  unmarked.page->mark = 0;
  EXPECT_EQ(import(unmarked.fd, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, &out), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(close(small.fd), 0);
  EXPECT_EQ(close(unmarked.fd), 0);
}

// One call, several semaphores: all are awaited.
TEST_F(ExternalSemaphores, ABatchWaitsForAll) {
  const std::array segments{make(semaphore_page::timeline), make(semaphore_page::timeline)};
  const std::array semaphores{imported(segments[0]), imported(segments[1])};
  std::array<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, 2> waits{};
  waits[0].params.fence.value = 3;
  waits[1].params.fence.value = 4;
  ASSERT_EQ(driver.cuWaitExternalSemaphoresAsync(semaphores.data(), waits.data(), 2, s), CUDA_SUCCESS);
  segments[0].page->set(3);
  EXPECT_EQ(driver.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
  segments[1].page->set(9);
  EXPECT_EQ(driver.cuStreamSynchronize(s), CUDA_SUCCESS);
  std::array<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, 2> signals{};
  signals[0].params.fence.value = 10;
  signals[1].params.fence.value = 11;
  ASSERT_EQ(driver.cuSignalExternalSemaphoresAsync(semaphores.data(), signals.data(), 2, s), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(segments[0].page->value, 10U);
  EXPECT_EQ(segments[1].page->value, 11U);
  for (const CUexternalSemaphore semaphore : semaphores) {
    EXPECT_EQ(driver.cuDestroyExternalSemaphore(semaphore), CUDA_SUCCESS);
  }
}

TEST_F(ExternalSemaphores, ABadOneLeavesTheOthersAlone) {
  const segment one = make(semaphore_page::timeline);
  const std::array semaphores{imported(one), reinterpret_cast<CUexternalSemaphore>(s)};
  std::array<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, 2> signals{};
  signals[0].params.fence.value = 1;
  EXPECT_EQ(driver.cuSignalExternalSemaphoresAsync(semaphores.data(), signals.data(), 2, s), CUDA_ERROR_INVALID_HANDLE);
  signals[0].flags = 1;
  EXPECT_EQ(driver.cuSignalExternalSemaphoresAsync(semaphores.data(), signals.data(), 1, s), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(one.page->value, 0U);
  EXPECT_EQ(driver.cuDestroyExternalSemaphore(semaphores[0]), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuDestroyExternalSemaphore(semaphores[0]), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ExternalSemaphores, ACaptureGoesOnWithoutThem) {
  const segment one = make(semaphore_page::timeline);
  const CUexternalSemaphore semaphore = imported(one);
  CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal{};
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, s), CUDA_ERROR_NOT_SUPPORTED);
  CUgraph graph = nullptr;
  EXPECT_EQ(driver.cuStreamEndCapture(s, &graph), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuDestroyExternalSemaphore(semaphore), CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
