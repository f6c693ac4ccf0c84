// external_semaphore_test.cpp - semaphores of others, and the profiler, when the driver refuses.
#include <weir/external_semaphore.hpp>
#include <weir/profiler.hpp>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"

namespace weir {
namespace {

using test::driver_table;
using test::every_call_may_fail;
using test::failing_table;
using test::result_of;
using test::unraised_errors;

class ExternalSemaphoreFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!gpu.is_embedded()) GTEST_SKIP() << "needs a semaphore of Vulkan's";
  }

  device gpu;
  stream s{gpu};
  shared_semaphore shared;
};

TEST_F(ExternalSemaphoreFaults, Importing) {
  every_call_may_fail([&] { return external_semaphore{gpu, shared}; });
}

TEST_F(ExternalSemaphoreFaults, SignallingAndWaiting) {
  const external_semaphore semaphore{gpu, shared};
  every_call_may_fail([&] { semaphore.signal(s, 1); });
  every_call_may_fail([&] { semaphore.wait(s, 1); });
}

TEST_F(ExternalSemaphoreFaults, ClosingReportsAndADestructorTellsTheHook) {
  {
    failing_table faults;
    faults.fail(&driver_table::cuDestroyExternalSemaphore, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
    external_semaphore semaphore{gpu, shared};
    EXPECT_EQ(result_of([&] { semaphore.close(); }), errc::system_not_ready);
    EXPECT_TRUE(semaphore.closed());
  }
  const unraised_errors unraised;
  {
    failing_table faults;
    faults.fail(&driver_table::cuDestroyExternalSemaphore, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
    const external_semaphore semaphore{gpu, shared};
  }
  EXPECT_EQ(unraised.count(), 1u);
}

TEST(ProfilerFaults, StartingAndStopping) {
  every_call_may_fail([] { start_profiler(); });
  every_call_may_fail([] { stop_profiler(); });
}

}  // namespace
}  // namespace weir
