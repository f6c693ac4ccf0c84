// SPDX-License-Identifier: Apache-2.0
// memory_resource_test.cpp - resources and allocators with failing driver calls.
#include <weir/memory/buffer.hpp>
#include <weir/memory/memory_resource.hpp>
#include <weir/memory/pinned_allocator.hpp>

#include <new>
#include <vector>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"

namespace weir {
namespace {

using test::driver_table;
using test::every_call_may_fail;
using test::fault_table;
using test::unhandled_errors;

class MemoryResourceFaults : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
  memory_pool pool{gpu};
  device_pool_resource resource{pool};
};

TEST_F(MemoryResourceFaults, AllocatingFromAMemoryResourceReportsEachFailedCall) {
  every_call_may_fail(
      [&] { return buffer<char>::adopt(s, static_cast<char*>(resource.allocate(s, 1000)), 1000); });
  every_call_may_fail([&] {
    return buffer<char>::adopt(s, static_cast<char*>(resource.allocate_sync(1000)), 1000);
  });
}

// Rule 160: a deallocation cannot throw, so its error reaches the handler.
TEST_F(MemoryResourceFaults, AFailureToDeallocateReachesTheErrorHandler) {
  void* const ordered = resource.allocate(s, 1000);
  void* const unordered = resource.allocate_sync(1000);
  const unhandled_errors unhandled;
  fault_table faults;
  faults.fail(&driver_table::cuMemFreeAsync, 1, abi::CUDA_ERROR_INVALID_CONTEXT);
  resource.deallocate(s, ordered, 1000);
  faults.fail(&driver_table::cuMemFreeAsync, 1, abi::CUDA_ERROR_INVALID_CONTEXT);
  resource.deallocate_sync(unordered, 1000);
  EXPECT_EQ(unhandled.errors().size(), 2u);
  EXPECT_STREQ(unhandled.errors()[0].call(), "cuMemFreeAsync");
  resource.deallocate(s, ordered, 1000);
  resource.deallocate_sync(unordered, 1000);
  EXPECT_EQ(unhandled.errors().size(), 2u);
}

TEST_F(MemoryResourceFaults, OnlyOutOfMemoryThrowsBadAlloc) {
  const memory_pool pinned{gpu, {.memory = pool_memory::pinned}};
  fault_table faults;
  faults.fail(&driver_table::cuMemAllocFromPoolAsync, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
  using vector = std::vector<char, pinned_allocator<char>>;
  EXPECT_THROW(vector(10, 'x', pinned), std::bad_alloc);
  faults.fail(&driver_table::cuMemAllocFromPoolAsync, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THROW(vector(10, 'x', pinned), error);
}

}  // namespace
}  // namespace weir
