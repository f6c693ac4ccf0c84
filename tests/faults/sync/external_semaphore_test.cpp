// external_semaphore_test.cpp - semaphores of others, and the profiler, when the driver refuses.
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

// The number that the next descriptor gets.
int first_free_descriptor() {
  const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(fd);
  return fd;
}

class ExternalSemaphoreFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!gpu.is_embedded()) GTEST_SKIP() << "needs a semaphore of Vulkan's";
  }

  device gpu;
  stream s{gpu};
  shared_semaphore shared;
};

TEST_F(ExternalSemaphoreFaults, ImportingASemaphoreReportsEachFailedCall) {
  every_call_may_fail([&] { return external_semaphore{gpu, shared}; });
}

// Neither more nor fewer descriptors than before.
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
  EXPECT_EQ(close(fd), 0) << "it is still ours";
}

// A driver may close what it refuses, and the number may be of somebody else's file by then.
TEST_F(ExternalSemaphoreFaults, ADescriptorThatTheDriverClosedIsNotClosedAgain) {
  static int somebody_elses;
  somebody_elses = -1;
  static driver_table closing = detail::driver();
  closing.cuImportExternalSemaphore = [](abi::CUexternalSemaphore*,
                                         const abi::CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC* desc) {
    close(desc->handle.fd);
    somebody_elses = open("/dev/null", O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(somebody_elses, desc->handle.fd);
    return abi::CUDA_ERROR_UNKNOWN;
  };
  const int fd = shared.duplicate_fd();
  const driver_table* const before = detail::table_in_use.exchange(&closing);
  EXPECT_EQ(result_of([&] { external_semaphore(gpu, shared); }), errc::unknown);
  EXPECT_EQ(close(somebody_elses), 0);
  EXPECT_EQ(result_of([&] { external_semaphore(gpu, semaphore_kind::timeline, fd); }),
            errc::unknown);
  detail::table_in_use = before;
  EXPECT_EQ(close(somebody_elses), 0);
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
  const unhandled_errors unraised;
  {
    fault_table faults;
    faults.fail(&driver_table::cuDestroyExternalSemaphore, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
    const external_semaphore semaphore{gpu, shared};
  }
  EXPECT_EQ(unraised.count(), 1u);
}

TEST(ProfilerFaults, StartingAndStoppingAProfilerReportEachFailedCall) {
  every_call_may_fail([] { start_profiler(); });
  every_call_may_fail([] { stop_profiler(); });
}

}  // namespace
}  // namespace weir
