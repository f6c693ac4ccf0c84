// SPDX-License-Identifier: Apache-2.0
// ipc_pool_test.cpp - shared pools with failing driver calls.
#include <weir/core/deferred.hpp>
#include <weir/memory/ipc_pool.hpp>

#include <unistd.h>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"
#include "support/peer.hpp"

namespace weir {
namespace {

using test::driver_table;
using test::every_call_may_fail;
using test::failure_of;
using test::fault_table;
using test::result_of;
using test::unhandled_errors;

constexpr memory_pool_options shared{.sharing = pool_sharing::file_descriptor};

// Creates a pool and memory and keeps them until the test ends.
WEIR_PEER_ROLE(faults_pool_maker) {
  const device gpu;
  const stream s{gpu};
  const memory_pool pool{gpu, shared};
  const buffer<int> memory{pool, s, 64};
  s.sync();
  const int descriptor = export_fd(pool);
  test.send_descriptor(descriptor);
  close(descriptor);
  test.send(handle_of(memory));
  char end = 0;
  static_cast<void>(test.try_receive(end));
}

class IpcPoolFaults : public ::testing::Test {
 protected:
  ~IpcPoolFaults() override { close(descriptor); }

  device gpu;
  const test::peer other{"faults_pool_maker"};
  int descriptor = other.receive_descriptor();
  pool_memory_handle handle = other.receive<pool_memory_handle>();
};

TEST_F(IpcPoolFaults, ExportingAPoolReportsEachFailedCall) {
  const stream s{gpu};
  const memory_pool pool{gpu, shared};
  const buffer<int> memory{pool, s, 16};
  every_call_may_fail([&] { close(export_fd(pool)); });
  every_call_may_fail([&] { static_cast<void>(handle_of(memory)); });
}

TEST_F(IpcPoolFaults, ImportingAPoolReportsEachFailedCall) {
  every_call_may_fail([&] { return ipc_pool::import_fd(descriptor, gpu); });
}

// If the size of the memory cannot be queried, the memory is released and the import does not
// change.
TEST_F(IpcPoolFaults, OpeningPoolMemoryReportsEachFailedCall) {
  const ipc_pool pool = ipc_pool::import_fd(descriptor, gpu);
  every_call_may_fail([&] { return ipc_pool_buffer<int>{pool, handle}; });
  EXPECT_EQ((ipc_pool_buffer<int>{pool, handle}.size()), 64u);
  drain_deferred();
}

// close() throws the error and still releases the rest.
TEST_F(IpcPoolFaults, AFailedCloseThrowsAndClosesTheMemory) {
  ipc_pool pool = ipc_pool::import_fd(descriptor, gpu);
  ipc_pool_buffer<int> memory{pool, handle};
  const auto address = reinterpret_cast<abi::CUdeviceptr>(memory.data());
  const abi::CUmemoryPool imported = pool.get();
  pool.close();
  fault_table faults;
  faults.fail(&driver_table::cuMemFree_v2, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
  faults.fail(&driver_table::cuMemPoolDestroy, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  const auto failure = failure_of([&] { memory.close(); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::launch_failed);
  EXPECT_STREQ(failure->call(), "cuMemFree");
  EXPECT_TRUE(memory.closed());
  EXPECT_EQ(faults.count(&driver_table::cuMemPoolDestroy), 1);
  EXPECT_EQ(detail::driver().cuMemFree_v2(address), abi::CUDA_SUCCESS);
  EXPECT_EQ(detail::driver().cuMemPoolDestroy(imported), abi::CUDA_SUCCESS);
}

TEST_F(IpcPoolFaults, AFailureInADestructorReachesTheErrorHandler) {
  const unhandled_errors unhandled;
  ipc_pool pool = ipc_pool::import_fd(descriptor, gpu);
  const abi::CUmemoryPool imported = pool.get();
  {
    fault_table faults;
    faults.fail(&driver_table::cuMemPoolDestroy, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
    { const ipc_pool gone = std::move(pool); }
    drain_deferred();
  }
  ASSERT_EQ(unhandled.errors().size(), 1u);
  EXPECT_EQ(unhandled.errors()[0].result(), errc::system_not_ready);
  EXPECT_STREQ(unhandled.errors()[0].call(), "cuMemPoolDestroy");
  EXPECT_EQ(detail::driver().cuMemPoolDestroy(imported), abi::CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir
