// SPDX-License-Identifier: Apache-2.0
// ipc_test.cpp - shared events and memory with failing driver calls.
#include <weir/core/deferred.hpp>
#include <weir/event/ipc_event.hpp>
#include <weir/memory/ipc_buffer.hpp>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"
#include "support/peer.hpp"

namespace weir {
namespace {

using detail::driver_table;
using test::every_call_may_fail;
using test::fault_table;
using test::result_of;
using test::unhandled_errors;

// Creates an event and memory and keeps them until the test ends.
WEIR_PEER_ROLE(maker) {
  const ipc_event event{device{}};
  const ipc_buffer<int> memory{64};
  test.send(event.handle());
  test.send(memory.handle());
  char end = 0;
  static_cast<void>(test.try_receive(end));
}

class IpcFaults : public ::testing::Test {
 protected:
  device gpu_;
};

TEST_F(IpcFaults, CreatingIpcObjectsReportsEachFailedCall) {
  every_call_may_fail([&] { return ipc_event{gpu_}; });
  every_call_may_fail([&] { return ipc_buffer<int>{16, gpu_}; });
}

TEST_F(IpcFaults, ExportingIpcObjectsReportsEachFailedCall) {
  const ipc_event event{gpu_};
  const ipc_buffer<int> memory{16, gpu_};
  every_call_may_fail([&] { static_cast<void>(event.handle()); });
  every_call_may_fail([&] { static_cast<void>(memory.handle()); });
}

// If the size of the memory cannot be queried, the memory is closed again.
TEST_F(IpcFaults, OpeningIpcObjectsReportsEachFailedCall) {
  const test::peer other{"maker"};
  const auto event = other.receive<ipc_event_handle>();
  const auto memory = other.receive<ipc_memory_handle>();
  every_call_may_fail([&] { return ipc_event::open(event, gpu_); });
  every_call_may_fail([&] { return ipc_buffer<int>::open(memory, gpu_); });
}

TEST_F(IpcFaults, AFailedCloseThrowsAndClosesTheIpcObject) {
  const test::peer other{"maker"};
  const auto event = other.receive<ipc_event_handle>();
  const auto memory = other.receive<ipc_memory_handle>();
  const auto code = abi::CUDA_ERROR_SYSTEM_NOT_READY;
  ipc_event opened_event = ipc_event::open(event, gpu_);
  auto opened = ipc_buffer<int>::open(memory, gpu_);
  ipc_buffer<int> made{16, gpu_};
  {
    fault_table calls;
    calls.fail(&driver_table::cuEventDestroy_v2, 1, code);
    calls.fail(&driver_table::cuIpcCloseMemHandle, 1, code);
    calls.fail(&driver_table::cuMemFree_v2, 1, code);
    EXPECT_EQ(result_of([&] { opened_event.close(); }), errc::system_not_ready);
    EXPECT_EQ(result_of([&] { opened.close(); }), errc::system_not_ready);
    EXPECT_EQ(result_of([&] { made.close(); }), errc::system_not_ready);
  }
  EXPECT_TRUE(opened_event.closed() && opened.closed() && made.closed());
}

// Rule 160: an error that a destructor cannot throw reaches the handler.
TEST_F(IpcFaults, AFailureInADestructorReachesTheErrorHandler) {
  const unhandled_errors unhandled;
  {
    fault_table calls;
    calls.fail(&driver_table::cuMemFree_v2, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
    { const ipc_buffer<int> made{16, gpu_}; }
    drain_deferred();  // another thread frees it
  }
  ASSERT_EQ(unhandled.errors().size(), 1u);
  EXPECT_EQ(unhandled.errors()[0].result(), errc::system_not_ready);
  EXPECT_STREQ(unhandled.errors()[0].call(), "cuMemFree");
}

}  // namespace
}  // namespace weir
