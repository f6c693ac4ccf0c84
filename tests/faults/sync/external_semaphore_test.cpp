// SPDX-License-Identifier: Apache-2.0
// external_semaphore_test.cpp - imported semaphores and the profiler with failing driver calls.
#include <weir/profiler/profiler.hpp>
#include <weir/sync/external_semaphore.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"

namespace weir {
namespace {

using test::driver_table;
using test::every_call_may_fail;
using test::fault_table;
using test::result_of;
using test::unhandled_errors;

// Returns the number that the next descriptor will get.
int first_free_descriptor() {
  const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(fd);
  return fd;
}

class ExternalSemaphoreFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!gpu.is_embedded()) GTEST_SKIP() << "needs a Vulkan semaphore";
  }

  device gpu;
  stream s{gpu};
  shared_semaphore shared;
};

TEST_F(ExternalSemaphoreFaults, ImportingASemaphoreReportsEachFailedCall) {
  every_call_may_fail([&] { return external_semaphore{gpu, shared}; });
}

// The import opens and closes no descriptors.
TEST_F(ExternalSemaphoreFaults, AFailedImportLeavesTheDescriptorOpen) {
  const int fd = shared.duplicate_fd();
  const int next = first_free_descriptor();
  fault_table faults;
  for (const bool ours : {true, false}) {
    faults.fail(&driver_table::cuImportExternalSemaphore, 1, abi::CUDA_ERROR_OPERATING_SYSTEM);
    EXPECT_EQ(result_of([&] {
                if (ours) external_semaphore(gpu, shared);
                if (!ours) external_semaphore(gpu, semaphore_kind::timeline, fd);
              }),
              errc::operating_system);
    EXPECT_EQ(first_free_descriptor(), next);
  }
  EXPECT_EQ(close(fd), 0) << "the caller still owns the descriptor";
}

// A driver may close a descriptor that it refuses, and another file may have its number afterwards.
TEST_F(ExternalSemaphoreFaults, ADescriptorThatTheDriverClosedIsNotClosedAgain) {
  static int unrelated_descriptor;
  unrelated_descriptor = -1;
  static driver_table closing = detail::driver();
  closing.cuImportExternalSemaphore = [](abi::CUexternalSemaphore*,
                                         const abi::CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC* desc) {
    close(desc->handle.fd);
    unrelated_descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(unrelated_descriptor, desc->handle.fd);
    return abi::CUDA_ERROR_UNKNOWN;
  };
  const int fd = shared.duplicate_fd();
  const driver_table* const before = detail::table_in_use.exchange(&closing);
  EXPECT_EQ(result_of([&] { external_semaphore(gpu, shared); }), errc::unknown);
  EXPECT_EQ(close(unrelated_descriptor), 0);
  EXPECT_EQ(result_of([&] { external_semaphore(gpu, semaphore_kind::timeline, fd); }),
            errc::unknown);
  detail::table_in_use = before;
  EXPECT_EQ(close(unrelated_descriptor), 0);
  EXPECT_EQ(close(fd), 0);
}

TEST_F(ExternalSemaphoreFaults, SignallingAndWaitingForASemaphoreReportEachFailedCall) {
  const external_semaphore semaphore{gpu, shared};
  every_call_may_fail([&] { semaphore.signal(s, 1); });
  every_call_may_fail([&] { semaphore.wait(s, 1); });
}

TEST_F(ExternalSemaphoreFaults, CloseThrowsAFailureAndADestructorPassesItToTheErrorHandler) {
  {
    fault_table faults;
    faults.fail(&driver_table::cuDestroyExternalSemaphore, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
    external_semaphore semaphore{gpu, shared};
    EXPECT_EQ(result_of([&] { semaphore.close(); }), errc::system_not_ready);
    EXPECT_TRUE(semaphore.closed());
  }
  const unhandled_errors unhandled;
  {
    fault_table faults;
    faults.fail(&driver_table::cuDestroyExternalSemaphore, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
    const external_semaphore semaphore{gpu, shared};
  }
  EXPECT_EQ(unhandled.count(), 1u);
}

TEST(ProfilerFaults, StartingAndStoppingAProfilerReportEachFailedCall) {
  every_call_may_fail([] { start_profiler(); });
  every_call_may_fail([] { stop_profiler(); });
}

}  // namespace
}  // namespace weir
