// SPDX-License-Identifier: Apache-2.0
// external_semaphore_test.cpp - imported semaphores: file descriptors, batches, captures, pages
// that outlive their handles.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "embedded/core/out_of_memory.hpp"
#include "embedded/memory/memory_fixture.hpp"
#include "embedded/model/core/thread_state.hpp"
#include "os/semaphore_page.hpp"

namespace weir::embedded {
using os::semaphore_page;

namespace {

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

  // A semaphore as another program would make it, with the test's own mapping of it.
  struct segment {
    int fd;
    semaphore_page* page;
  };
  static segment make(std::uint32_t kind, std::size_t bytes = semaphore_page::bytes,
                      unsigned flags = MFD_ALLOW_SEALING) {
    const int fd = memfd_create("weir-test", MFD_CLOEXEC | flags);
    EXPECT_EQ(ftruncate(fd, static_cast<off_t>(bytes)), 0);
    void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    auto* const page = static_cast<semaphore_page*>(mapped);
    page->magic = semaphore_page::magic_number;
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
    EXPECT_EQ(import(of.fd, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, &made),
              CUDA_SUCCESS);
    return made;
  }

  CUstream s = nullptr;
};

TEST_F(ExternalSemaphores, SmallOrUnmarkedMemoryIsRefused) {
  CUexternalSemaphore out = nullptr;
  const segment small = make(semaphore_page::timeline, 1024);
  EXPECT_EQ(import(small.fd, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, &out),
            CUDA_ERROR_UNKNOWN);
  const segment unmarked = make(semaphore_page::timeline);
  unmarked.page->magic = 0;
  EXPECT_EQ(import(unmarked.fd, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, &out),
            CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(close(small.fd), 0);
  EXPECT_EQ(close(unmarked.fd), 0);
}

// Reading a truncated page would end the process with SIGBUS.
TEST_F(ExternalSemaphores, AnImportedPageCannotBeTruncated) {
  const segment one = make(semaphore_page::timeline);
  const int kept = dup(one.fd);
  const CUexternalSemaphore semaphore = imported(one);
  EXPECT_NE(ftruncate(kept, 0), 0);
  EXPECT_EQ(driver.cuDestroyExternalSemaphore(semaphore), CUDA_SUCCESS);
  EXPECT_EQ(close(kept), 0);

  CUexternalSemaphore none = nullptr;
  const segment open = make(semaphore_page::timeline, semaphore_page::bytes, 0);
  EXPECT_EQ(import(open.fd, CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD, &none),
            CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(close(open.fd), 0);
}

TEST_F(ExternalSemaphores, ABatchWaitsForAllSemaphores) {
  const std::array segments{make(semaphore_page::timeline), make(semaphore_page::timeline)};
  const std::array semaphores{imported(segments[0]), imported(segments[1])};
  std::array<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, 2> waits{};
  waits[0].params.fence.value = 3;
  waits[1].params.fence.value = 4;
  ASSERT_EQ(driver.cuWaitExternalSemaphoresAsync(semaphores.data(), waits.data(), 2, s),
            CUDA_SUCCESS);
  segments[0].page->set(3);
  EXPECT_EQ(driver.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
  segments[1].page->set(9);
  EXPECT_EQ(driver.cuStreamSynchronize(s), CUDA_SUCCESS);
  std::array<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, 2> signals{};
  signals[0].params.fence.value = 10;
  signals[1].params.fence.value = 11;
  ASSERT_EQ(driver.cuSignalExternalSemaphoresAsync(semaphores.data(), signals.data(), 2, s),
            CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(segments[0].page->value, 10U);
  EXPECT_EQ(segments[1].page->value, 11U);
  for (const CUexternalSemaphore semaphore : semaphores) {
    EXPECT_EQ(driver.cuDestroyExternalSemaphore(semaphore), CUDA_SUCCESS);
  }
}

TEST_F(ExternalSemaphores, AnInvalidSemaphoreLeavesTheOthersUnchanged) {
  const segment one = make(semaphore_page::timeline);
  const std::array semaphores{imported(one), reinterpret_cast<CUexternalSemaphore>(s)};
  std::array<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, 2> signals{};
  signals[0].params.fence.value = 1;
  EXPECT_EQ(driver.cuSignalExternalSemaphoresAsync(semaphores.data(), signals.data(), 2, s),
            CUDA_ERROR_INVALID_HANDLE);
  signals[0].flags = 1;
  EXPECT_EQ(driver.cuSignalExternalSemaphoresAsync(semaphores.data(), signals.data(), 1, s),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(one.page->value, 0U);
  EXPECT_EQ(driver.cuDestroyExternalSemaphore(semaphores[0]), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuDestroyExternalSemaphore(semaphores[0]), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ExternalSemaphores, ACaptureRefusesSemaphoresAndStaysValid) {
  const segment one = make(semaphore_page::timeline);
  const CUexternalSemaphore semaphore = imported(one);
  CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal{};
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, s),
            CUDA_ERROR_NOT_SUPPORTED);
  CUgraph graph = nullptr;
  EXPECT_EQ(driver.cuStreamEndCapture(s, &graph), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuDestroyExternalSemaphore(semaphore), CUDA_SUCCESS);
}

// A call that races with closing the semaphore uses it or fails.
TEST_F(ExternalSemaphores, ASemaphoreIsUsedOrClosedAtomically) {
  const segment one = make(semaphore_page::timeline);
  constexpr int rounds = 4000;
  CUexternalSemaphore semaphore = nullptr;
  std::atomic<int> round{0};
  std::atomic<int> closed{0};
  std::thread closing{[&] {
    for (int i = 1; i <= rounds; ++i) {
      for (int looks = 0; round.load() != i; ++looks) {
        if (looks > 100'000) std::this_thread::yield();  // delayed, so that the calls overlap
      }
      EXPECT_EQ(driver.cuDestroyExternalSemaphore(semaphore), CUDA_SUCCESS);
      closed.store(i);
    }
  }};
  CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal{};
  for (int i = 1; i <= rounds; ++i) {
    semaphore = imported({fcntl(one.fd, F_DUPFD_CLOEXEC, 0), one.page});
    ++signal.params.fence.value;
    round.store(i);
    const CUresult status = driver.cuSignalExternalSemaphoresAsync(&semaphore, &signal, 1, s);
    ASSERT_TRUE(status == CUDA_SUCCESS || status == CUDA_ERROR_INVALID_HANDLE) << status;
    while (closed.load() != i) std::this_thread::yield();
    EXPECT_EQ(driver.cuStreamSynchronize(s), CUDA_SUCCESS);
    EXPECT_EQ(one.page->value == signal.params.fence.value, status == CUDA_SUCCESS);
  }
  closing.join();
  munmap(one.page, semaphore_page::bytes);
  close(one.fd);
}

// Repeats the call until it runs out of memory for its operations, though not for anything else.
// Returns the number of calls made.
template <class Call>
std::uint64_t call_until_out_of_memory(Call&& call) {
  constexpr std::uint64_t most = 100'000;
  std::uint64_t calls = 0;
  for (int room = 0; calls == 0; ++room) {
    const auto succeeds = [&] {
      const out_of_memory after{room};
      return call() == CUDA_SUCCESS;
    };
    while (calls < most && succeeds()) ++calls;
  }
  return calls;
}

// A call that runs out of memory halfway has no visible effect and uses no released page. `before`
// (none or one operation) shifts the point of failure, so that in one case only the first operation
// of a call fits.
TEST_F(ExternalSemaphores, ACallThatRunsOutOfMemoryDoesNothing) {
  for (const int before : {0, 1}) {
    const std::array segments{make(semaphore_page::timeline), make(semaphore_page::timeline)};
    const std::array semaphores{imported(segments[0]), imported(segments[1])};
    std::array<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, 2> signals{};
    std::array<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, 2> waits{};
    const test_stream signalling;
    const test_stream waiting;
    stream_gate first_gate{signalling};
    stream_gate second_gate{waiting};
    for (int i = 0; i < before; ++i) {
      for (const CUstream blocked : {CUstream{signalling}, CUstream{waiting}}) {
        ASSERT_EQ(driver.cuLaunchHostFunc(
                      blocked, [](void*) {}, nullptr),
                  CUDA_SUCCESS);
      }
    }

    std::uint64_t value = 0;
    const std::uint64_t signalled = call_until_out_of_memory([&] {
      ++value;
      for (auto& each : signals) each.params.fence.value = value;
      return driver.cuSignalExternalSemaphoresAsync(semaphores.data(), signals.data(), 2,
                                                    signalling);
    });
    call_until_out_of_memory([&] {
      return driver.cuWaitExternalSemaphoresAsync(semaphores.data(), waits.data(), 2, waiting);
    });
    for (const CUexternalSemaphore semaphore : semaphores) {
      EXPECT_EQ(driver.cuDestroyExternalSemaphore(semaphore), CUDA_SUCCESS);
    }
    first_gate.open();
    second_gate.open();
    signalling.synchronize();
    waiting.synchronize();
    EXPECT_EQ(segments[0].page->value, segments[1].page->value);
    EXPECT_LE(segments[0].page->value, value);
    EXPECT_GE(segments[0].page->value, signalled);
  }
}

}  // namespace
}  // namespace weir::embedded
