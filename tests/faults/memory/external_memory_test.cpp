// SPDX-License-Identifier: Apache-2.0
// external_memory_test.cpp - imported memory with failing driver calls.
#include <weir/memory/external_memory.hpp>

#include <unistd.h>

#include <cstdint>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"
#include "support/shared_allocation.hpp"

namespace weir {
namespace {

using test::driver_table;
using test::every_call_may_fail;
using test::failure_of;
using test::fault_table;
using test::is_open;
using test::shared_allocation;
using test::unhandled_errors;

// A descriptor that is closed unless an import has taken it.
class offered {
 public:
  explicit offered(const shared_allocation& of) : descriptor_{of.descriptor()} {}
  offered(const offered&) = delete;
  offered& operator=(const offered&) = delete;
  ~offered() {
    if (is_open(descriptor_)) close(descriptor_);
  }
  operator int() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

class ExternalMemoryFaults : public ::testing::Test {
 protected:
  device gpu;
  shared_allocation theirs{gpu};
};

TEST_F(ExternalMemoryFaults, MappingExternalMemoryReportsEachFailedCall) {
  const external_memory memory =
      external_memory::import_fd(theirs.descriptor(), theirs.bytes(), gpu);
  every_call_may_fail([&] { return mapped_buffer<std::uint8_t>{memory, 0, theirs.bytes()}; });
}

TEST_F(ExternalMemoryFaults, AFailedImportLeavesTheDescriptorOpen) {
  fault_table faults;
  const offered descriptor{theirs};
  faults.fail(&driver_table::cuImportExternalMemory, 1, abi::CUDA_ERROR_OPERATING_SYSTEM);
  const auto failure =
      failure_of([&] { (void)external_memory::import_fd(descriptor, theirs.bytes(), gpu); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::operating_system);
  EXPECT_STREQ(failure->call(), "cuImportExternalMemory");
  EXPECT_TRUE(is_open(descriptor));
  EXPECT_EQ(faults.count(&driver_table::cuDestroyExternalMemory), 0);
}

// close() throws the error and still releases the rest.
TEST_F(ExternalMemoryFaults, AFailedCloseThrowsAndClosesTheMapping) {
  external_memory memory = external_memory::import_fd(theirs.descriptor(), theirs.bytes(), gpu);
  mapped_buffer<int> part{memory, 0, theirs.bytes() / sizeof(int)};
  memory.close();
  fault_table faults;
  faults.fail(&driver_table::cuMemFree_v2, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
  const auto failure = failure_of([&] { part.close(); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::launch_failed);
  EXPECT_STREQ(failure->call(), "cuMemFree");
  EXPECT_TRUE(part.closed());
  EXPECT_EQ(faults.count(&driver_table::cuDestroyExternalMemory), 1);
}

TEST_F(ExternalMemoryFaults, AFailureInADestructorReachesTheErrorHandler) {
  const unhandled_errors unhandled;
  {
    fault_table faults;
    const external_memory memory =
        external_memory::import_fd(theirs.descriptor(), theirs.bytes(), gpu);
    faults.fail(&driver_table::cuDestroyExternalMemory, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
  }
  drain_deferred();
  EXPECT_EQ(unhandled.count(), 1u);
}

}  // namespace
}  // namespace weir
