// SPDX-License-Identifier: Apache-2.0
// memory_test.cpp - buffers, copies and fills with failing driver calls.
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver;
using test::driver_table;
using test::every_call_may_fail;
using test::failure_of;
using test::fault_table;
using test::result_of;
using test::unhandled_errors;

class MemoryFaults : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 100;

  MemoryFaults() {
    const context_scope current{gpu};
    EXPECT_EQ(driver().cuStreamCreate(&raw, abi::CU_STREAM_NON_BLOCKING), abi::CUDA_SUCCESS);
  }
  ~MemoryFaults() override { EXPECT_EQ(driver().cuStreamDestroy_v2(raw), abi::CUDA_SUCCESS); }

  device gpu;
  stream s{gpu};
  stream t{gpu};
  abi::CUstream raw = nullptr;  // not owned by weir
};

// Rule 164.
TEST_F(MemoryFaults, CreatingABufferReportsEachFailedCall) {
  every_call_may_fail([&] { return buffer<int>{s, size}; });
  every_call_may_fail([&] { return buffer<int>{stream_ref{raw}, size}; });
  every_call_may_fail([&] { return pinned_buffer<int>{size}; });
}

// A buffer that was not allocated does not keep its stream alive.
TEST_F(MemoryFaults, AFailedAllocationKeepsNoStreamAlive) {
  fault_table faults;
  stream short_lived{gpu};
  faults.fail(&driver_table::cuMemAllocAsync, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(result_of([&] { const buffer<int> x{short_lived, size}; }), errc::out_of_memory);
  short_lived.shutdown();
  EXPECT_EQ(faults.count(&driver_table::cuStreamDestroy_v2), 1);
}

TEST_F(MemoryFaults, CopiesAndFillsReportEachFailedCall) {
  buffer<std::uint8_t> one{s, size};
  buffer<std::uint16_t> two{s, size};
  buffer<std::uint32_t> four{s, size};
  std::vector<std::uint32_t> host(size);
  every_call_may_fail([&] { copy(s, host, four); });
  every_call_may_fail([&] { fill(s, one, std::uint8_t{1}); });
  every_call_may_fail([&] { fill(s, two, std::uint16_t{1}); });
  every_call_may_fail([&] { fill(s, four, 1u); });
  s.sync();
}

TEST_F(MemoryFaults, CopiesBetweenDevicesReportEachFailedCall) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  const stream other{device{1}};
  buffer<int> x{s, size};
  buffer<int> y{other, size};
  other.wait(s);
  every_call_may_fail([&] { copy(other, x, y); });
  other.sync();
}

// A use on a stream that weir does not own is tracked before the work. If that fails, nothing is
// queued.
TEST_F(MemoryFaults, WorkIsNotQueuedIfItsUseCannotBeTracked) {
  buffer<std::uint32_t> x{s, size};
  s.sync();
  fault_table faults;
  faults.fail(&driver_table::cuEventCreate, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
  const auto failure = failure_of([&] { fill(stream_ref{raw}, x, 1u); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::out_of_memory);
  EXPECT_EQ(faults.count(&driver_table::cuMemsetD32Async), 0);
  fill(stream_ref{raw}, x, 1u);  // a later attempt succeeds
  stream_ref{raw}.sync();
  EXPECT_EQ(faults.count(&driver_table::cuMemsetD32Async), 1);
}

// The work is queued already, so the operation succeeds. A use that cannot be recorded is waited
// for.
TEST_F(MemoryFaults, AUseIsWaitedForIfItsEventCannotBeRecorded) {
  pinned_buffer<std::uint32_t> pinned{size};
  fault_table faults;
  faults.fail(&driver_table::cuEventRecord, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
  fill(stream_ref{raw}, pinned, 5u);
  EXPECT_EQ(faults.count(&driver_table::cuStreamSynchronize), 1);
  EXPECT_EQ(pinned[size - 1], 5u);
  faults.fail(&driver_table::cuEventRecord, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
  faults.fail(&driver_table::cuStreamSynchronize, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
  const auto failure = failure_of([&] { pinned.used_on(stream_ref{raw}); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::out_of_memory);
  EXPECT_STREQ(failure->call(), "cuEventRecord");
}

// The free cannot wait for a stream that still uses the memory, so it is deferred and the memory is
// not reused.
TEST_F(MemoryFaults, ABufferWhoseFreeCannotWaitIsFreedAfterItsUses) {
  buffer<int> x{s, size};
  t.wait(s);
  test::gate held{t};
  x.used_on(t);
  fault_table faults;
  faults.fail(&driver_table::cuStreamWaitEvent, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  const auto failure = failure_of([&] { x.close(); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::system_not_ready);
  EXPECT_STREQ(failure->call(), "cuStreamWaitEvent");
  EXPECT_TRUE(x.closed());
  x.close();
  EXPECT_EQ(faults.count(&driver_table::cuMemFreeAsync), 0);
  held.open();
  drain_deferred();
  EXPECT_EQ(faults.count(&driver_table::cuMemFreeAsync), 1);
}

TEST_F(MemoryFaults, ABufferKeepsItsStreamUntilItsDelayedFree) {
  fault_table faults;
  {
    const unhandled_errors unhandled;
    test::gate held{t};
    stream home{gpu};
    {
      buffer<int> x{home, size};
      x.used_on(t);
      faults.fail(&driver_table::cuStreamWaitEvent, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
    }
    EXPECT_EQ(unhandled.count(), 1u);
    home.close();
    EXPECT_EQ(faults.count(&driver_table::cuStreamDestroy_v2), 0);
    held.open();
    drain_deferred();
  }
  EXPECT_EQ(faults.count(&driver_table::cuMemFreeAsync), 1);
  EXPECT_EQ(faults.count(&driver_table::cuStreamDestroy_v2), 1);
}

// Rule 160.
TEST_F(MemoryFaults, AFailureInADestructorReachesTheErrorHandler) {
  const unhandled_errors unhandled;
  std::uintptr_t device_memory = 0;
  void* pinned_memory = nullptr;
  {
    fault_table faults;
    faults.fail(&driver_table::cuMemFreeAsync, 1, abi::CUDA_ERROR_INVALID_CONTEXT);
    faults.fail(&driver_table::cuMemFreeHost, 1, abi::CUDA_ERROR_INVALID_VALUE);
    {
      pinned_buffer<int> pinned{size};
      buffer<int> x{s, size};
      pinned_memory = pinned.data();
      device_memory = reinterpret_cast<std::uintptr_t>(x.data());
    }
    drain_deferred();
  }
  const std::vector<error> errors = unhandled.errors();
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].result(), errc::invalid_context);
  EXPECT_STREQ(errors[0].call(), "cuMemFreeAsync");
  EXPECT_EQ(errors[0].object().rfind("memory at ", 0), 0u);
  EXPECT_EQ(errors[1].result(), errc::invalid_value);
  EXPECT_STREQ(errors[1].call(), "cuMemFreeHost");
  EXPECT_EQ(driver().cuMemFreeAsync(device_memory, s.get()), abi::CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemFreeHost(pinned_memory), abi::CUDA_SUCCESS);
}

// Rule 161.
TEST_F(MemoryFaults, ADriverShutdownIsNotReportedAsAFailure) {
  const unhandled_errors unhandled;
  std::uintptr_t device_memory = 0;
  void* pinned_memory = nullptr;
  {
    fault_table faults;
    faults.fail(&driver_table::cuMemFreeAsync, 1, abi::CUDA_ERROR_DEINITIALIZED);
    faults.fail(&driver_table::cuMemFreeHost, 1, abi::CUDA_ERROR_DEINITIALIZED);
    {
      pinned_buffer<int> pinned{size};
      buffer<int> x{s, size};
      pinned_memory = pinned.data();
      device_memory = reinterpret_cast<std::uintptr_t>(x.data());
    }
    drain_deferred();
  }
  EXPECT_EQ(unhandled.count(), 0u);
  EXPECT_EQ(driver().cuMemFreeAsync(device_memory, s.get()), abi::CUDA_SUCCESS);
  EXPECT_EQ(driver().cuMemFreeHost(pinned_memory), abi::CUDA_SUCCESS);
}

TEST_F(MemoryFaults, ABufferKeepsItsStreamIfTheNewOneCannotWait) {
  buffer<int> x{s, size};
  t.wait(s);
  fault_table faults;
  faults.fail(&driver_table::cuStreamWaitEvent, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  EXPECT_EQ(result_of([&] { x.set_stream(t); }), errc::system_not_ready);
  EXPECT_EQ(x.stream(), s.ref());
  EXPECT_FALSE(x.closed());
}

// If the given stream cannot wait for the buffer's stream, the free is queued on the buffer's
// stream, which needs no wait.
TEST_F(MemoryFaults, AFreeThatCannotWaitIsQueuedOnTheBufferStream) {
  buffer<int> x{s, size};
  t.wait(s);
  test::gate held{t};
  fault_table faults;
  faults.fail(&driver_table::cuStreamWaitEvent, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  EXPECT_EQ(result_of([&] { x.close(t); }), errc::system_not_ready);
  EXPECT_EQ(faults.count(&driver_table::cuMemFreeAsync), 1);
  s.sync();  // the blocked stream t is not involved
  held.open();
}

TEST_F(MemoryFaults, AFailedCloseThrowsAndClosesPinnedMemory) {
  pinned_buffer<std::uint32_t> pinned{size};
  fill(s, pinned, 1u);
  fault_table faults;
  faults.fail(&driver_table::cuStreamSynchronize, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
  const auto failure = failure_of([&] { pinned.close(); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::launch_failed);
  EXPECT_TRUE(pinned.closed());
  s.sync();
}

}  // namespace
}  // namespace weir
