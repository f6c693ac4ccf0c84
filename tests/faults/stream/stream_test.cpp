// SPDX-License-Identifier: Apache-2.0
// stream_test.cpp - streams, contexts and devices with failing driver calls.
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/device/device.hpp>
#include <weir/event/event.hpp>
#include <weir/stream/current_stream.hpp>
#include <weir/stream/stream.hpp>

#include <chrono>
#include <set>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"
#include "support/created_context.hpp"

namespace weir {
namespace {

using detail::driver;
using test::driver_table;
using test::every_call_may_fail;
using test::failure_of;
using test::fault_table;
using test::result_of;
using test::unhandled_errors;

class StreamFaults : public ::testing::Test {
 protected:
  CUstream_st* make_raw() {
    const context_scope current{gpu};
    abi::CUstream raw = nullptr;
    EXPECT_EQ(driver().cuStreamCreate(&raw, abi::CU_STREAM_NON_BLOCKING), abi::CUDA_SUCCESS);
    return raw;
  }

  device gpu;
  stream s{gpu};
  stream t{gpu};
};

// Rule 164.
TEST_F(StreamFaults, CreatingAStreamReportsEachFailedCall) {
  every_call_may_fail([&] { return stream{gpu, {.priority = gpu.priorities().greatest}}; });
}

TEST_F(StreamFaults, AFailedAdoptLeavesTheStreamToTheCaller) {
  CUstream_st* const raw = make_raw();
  every_call_may_fail([&] {
    stream adopted = stream::adopt(raw);
    static_cast<void>(adopted.release());
  });
  EXPECT_EQ(driver().cuStreamDestroy_v2(raw), abi::CUDA_SUCCESS);
}

TEST_F(StreamFaults, RecordingAnEventReportsEachFailedCall) {
  const event e{gpu};
  every_call_may_fail([&] { return s.record(); });
  every_call_may_fail([&] { return s.record_timed(); });
  every_call_may_fail([&] { s.record(e); });
}

TEST_F(StreamFaults, WaitingOnAStreamReportsEachFailedCall) {
  const event e = s.record();
  every_call_may_fail([&] { t.wait(e); });
  every_call_may_fail([&] { t.wait(s); });
  every_call_may_fail([&] { t.sync(); });
  every_call_may_fail([&] { static_cast<void>(t.sync_for(std::chrono::hours{1})); });
  every_call_may_fail([&] { static_cast<void>(t.done()); });
}

// A thread creates the event for such waits at its first wait in a context, and keeps it.
TEST_F(StreamFaults, AFailedFirstWaitInAContextCanBeRepeated) {
  const test::created_context own{gpu};
  const stream inside{context_ref{own}};
  fault_table faults;
  faults.fail(&driver_table::cuEventCreate, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
  const auto failure = failure_of([&] { t.wait(inside); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::out_of_memory);
  EXPECT_STREQ(failure->call(), "cuEventCreate");
  test::expect_no_leaks(faults, "cuEventCreate");
  t.wait(inside);
  t.wait(inside);
  EXPECT_EQ(faults.count(&driver_table::cuEventCreate), 2);
  t.sync();
}

// A cached stream may be an older stream with the same handle, so weir looks it up again before it
// reports the driver's error.
TEST_F(StreamFaults, AWaitRechecksAStreamThatSeemsToBeDestroyed) {
  t.wait(s);
  fault_table faults;
  faults.fail(&driver_table::cuEventRecord, 1, abi::CUDA_ERROR_INVALID_HANDLE);
  const auto failure = failure_of([&] { t.wait(s); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_handle);
  EXPECT_STREQ(failure->call(), "cuEventRecord");
  EXPECT_EQ(failure->object(), to_string(s.ref()));
  EXPECT_EQ(faults.count(&driver_table::cuCtxGetId), 1);
  EXPECT_EQ(faults.count(&driver_table::cuStreamWaitEvent), 0);
  t.wait(s);
}

TEST_F(StreamFaults, ForeignStreamQueriesReportEachFailedCall) {
  CUstream_st* const raw = make_raw();
  const stream_ref foreign{raw};
  every_call_may_fail([&] { static_cast<void>(foreign.id()); });
  every_call_may_fail([&] { static_cast<void>(foreign.context()); });
  every_call_may_fail([&] { static_cast<void>(foreign.device()); });
  every_call_may_fail([&] { static_cast<void>(foreign.priority()); });
  every_call_may_fail([&] { static_cast<void>(foreign.is_blocking()); });
  EXPECT_EQ(driver().cuStreamDestroy_v2(raw), abi::CUDA_SUCCESS);
}

TEST_F(StreamFaults, DeviceAndContextQueriesReportEachFailedCall) {
  every_call_may_fail([&] { static_cast<void>(gpu.uuid()); });
  every_call_may_fail([&] { static_cast<void>(gpu.attribute(device_attribute::warp_size)); });
  every_call_may_fail([&] { static_cast<void>(gpu.compute_capability()); });
  every_call_may_fail([&] { static_cast<void>(gpu.memory()); });
  every_call_may_fail([&] { static_cast<void>(gpu.can_access(gpu)); });
  every_call_may_fail([&] { gpu.sync(); });
  every_call_may_fail([&] { gpu.primary_context().sync(); });
  every_call_may_fail([&] { return context{gpu}; });
  every_call_may_fail([&] { static_cast<void>(current_context()); });
  std::thread{[&] { every_call_may_fail([&] { const context_scope current{gpu}; }); }}.join();
}

TEST_F(StreamFaults, DeviceCountIsZeroIfTheDriverCannotReportIt) {
  fault_table faults;
  faults.fail(&driver_table::cuDeviceGetCount, 1, abi::CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(device::count(), 0);
  EXPECT_GT(device::count(), 0);
}

// Rules 162 and 165.
TEST_F(StreamFaults, AFailureOfTheCleanupIsAttached) {
  stream made{gpu};
  CUstream_st* const raw = made.get();
  {
    fault_table faults;
    faults.fail(&driver_table::cuStreamSynchronize, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
    faults.fail(&driver_table::cuStreamDestroy_v2, 1, abi::CUDA_ERROR_INVALID_HANDLE);
    const auto failure = failure_of([&] { made.shutdown(); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::system_not_ready);
    ASSERT_EQ(failure->attached().size(), 1u);
    EXPECT_EQ(failure->attached()[0].result(), errc::invalid_handle);
    EXPECT_STREQ(failure->attached()[0].call(), "cuStreamDestroy");
  }
  EXPECT_TRUE(made.closed());
  EXPECT_EQ(driver().cuStreamDestroy_v2(raw), abi::CUDA_SUCCESS)
      << "the call did not reach the driver";
}

TEST_F(StreamFaults, StreamIdsNeedNoDriverCalls) {
  fault_table faults;
  std::set<unsigned long long> ids;
  for (int i = 0; i < 10; ++i) ids.insert(stream{gpu}.id());
  EXPECT_EQ(ids.size(), 10u);
  EXPECT_EQ(faults.count(&driver_table::cuStreamGetId), 0);
}

// Drivers before CUDA 12.0 have no stream ids, so weir assigns one.
TEST_F(StreamFaults, AStreamCanBeAdoptedFromADriverWithoutStreamIds) {
  CUstream_st* const raw = stream{gpu}.release();
  fault_table faults;
  faults.fail_from(&driver_table::cuStreamGetId, 1, abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
  const stream adopted = stream::adopt(raw);
  EXPECT_NE(adopted.id(), stream{gpu}.id());
}

// Rule 160: an error in a destructor reaches the handler.
TEST_F(StreamFaults, AFailureInADestructorReachesTheErrorHandler) {
  const unhandled_errors unhandled;
  CUstream_st* raw = nullptr;
  {
    fault_table faults;
    faults.fail(&driver_table::cuStreamDestroy_v2, 1, abi::CUDA_ERROR_INVALID_CONTEXT);
    const stream made{gpu};
    raw = made.get();
  }
  ASSERT_EQ(unhandled.errors().size(), 1u);
  const error failure = unhandled.errors()[0];
  EXPECT_EQ(failure.result(), errc::invalid_context);
  EXPECT_STREQ(failure.call(), "cuStreamDestroy");
  EXPECT_NE(failure.object().find("stream"), std::string::npos);
  EXPECT_EQ(driver().cuStreamDestroy_v2(raw), abi::CUDA_SUCCESS)
      << "the call did not reach the driver";
}

// Rule 161.
TEST_F(StreamFaults, ADriverShutdownIsNotReportedAsAFailure) {
  const unhandled_errors unhandled;
  CUstream_st* raw = nullptr;
  {
    fault_table faults;
    faults.fail(&driver_table::cuStreamDestroy_v2, 1, abi::CUDA_ERROR_DEINITIALIZED);
    faults.fail(&driver_table::cuDevicePrimaryCtxRelease_v2, 1, abi::CUDA_ERROR_DEINITIALIZED);
    const context kept{gpu};
    const stream made{gpu};
    raw = made.get();
  }
  EXPECT_EQ(unhandled.count(), 0u);
  EXPECT_EQ(driver().cuStreamDestroy_v2(raw), abi::CUDA_SUCCESS);
  EXPECT_EQ(driver().cuDevicePrimaryCtxRelease_v2(0), abi::CUDA_SUCCESS);
}

TEST_F(StreamFaults, AFailedCloseThrowsAndClosesTheStream) {
  fault_table faults;
  stream made{gpu};
  CUstream_st* const raw = made.get();
  faults.fail(&driver_table::cuStreamDestroy_v2, 1, abi::CUDA_ERROR_INVALID_CONTEXT);
  const auto failure = failure_of([&] { made.close(); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_context);
  EXPECT_TRUE(made.closed());
  made.close();
  EXPECT_EQ(faults.count(&driver_table::cuStreamDestroy_v2), 1);
  EXPECT_EQ(driver().cuStreamDestroy_v2(raw), abi::CUDA_SUCCESS);

  context kept{gpu};
  faults.fail(&driver_table::cuDevicePrimaryCtxRelease_v2, 1, abi::CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(result_of([&] { kept.close(); }), errc::invalid_context);
  EXPECT_TRUE(kept.closed());
  EXPECT_EQ(driver().cuDevicePrimaryCtxRelease_v2(0), abi::CUDA_SUCCESS);
}

// Rule 162.
TEST_F(StreamFaults, ShutdownDestroysTheStreamEvenIfTheWaitFails) {
  fault_table faults;
  stream first{gpu};
  faults.fail(&driver_table::cuStreamSynchronize, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(result_of([&] { first.shutdown(); }), errc::launch_failed);
  EXPECT_TRUE(first.closed());
  EXPECT_EQ(faults.count(&driver_table::cuStreamDestroy_v2), 1);

  stream second{gpu};
  CUstream_st* const raw = second.get();
  faults.fail(&driver_table::cuStreamSynchronize, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
  faults.fail(&driver_table::cuStreamDestroy_v2, 1, abi::CUDA_ERROR_INVALID_CONTEXT);
  const auto failure = failure_of([&] { second.shutdown(); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::launch_failed);
  ASSERT_EQ(failure->attached().size(), 1u);
  EXPECT_EQ(failure->attached()[0].result(), errc::invalid_context);
  EXPECT_EQ(driver().cuStreamDestroy_v2(raw), abi::CUDA_SUCCESS);
}

// A function that cannot throw returns the code.
TEST_F(StreamFaults, NonThrowingQueriesReturnTheDriverCode) {
  fault_table faults;
  const event e = s.record();
  faults.fail(&driver_table::cuStreamQuery, 1, abi::CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(s.status(), errc::illegal_address);
  faults.fail(&driver_table::cuEventQuery, 1, static_cast<abi::CUresult>(4711));
  EXPECT_EQ(e.status(), static_cast<errc>(4711));
  faults.fail(&driver_table::cuMemGetInfo_v2, 1, abi::CUDA_ERROR_ECC_UNCORRECTABLE);
  EXPECT_EQ(gpu.primary_context().status(), errc::ecc_uncorrectable);
}

// Rule 24: a scope that cannot begin changes nothing.
TEST_F(StreamFaults, AStreamScopeThatCannotBeginChangesNothing) {
  std::thread{[&] {
    const context_scope current{gpu};
    set_current_stream(s);
    s.wait(t);
    t.wait(s);
    fault_table faults;
    faults.fail(&driver_table::cuStreamWaitEvent, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
    EXPECT_EQ(result_of([&] {
                const stream_scope scope{t, {.wait_on_entry = true}};
              }),
              errc::system_not_ready);
    EXPECT_EQ(current_stream(), s.ref());
  }}.join();
}

TEST_F(StreamFaults, AFailedWaitAtTheEndOfAStreamScopeReachesTheErrorHandler) {
  std::thread{[&] {
    const unhandled_errors unhandled;
    const context_scope current{gpu};
    set_current_stream(s);
    {
      fault_table faults;  // outlives the scope
      const stream_scope scope{t, {.wait_on_exit = true}};
      faults.fail(&driver_table::cuStreamWaitEvent, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
    }
    EXPECT_EQ(current_stream(), s.ref());
    ASSERT_EQ(unhandled.errors().size(), 1u);
    EXPECT_EQ(unhandled.errors()[0].result(), errc::system_not_ready);
  }}.join();
}

}  // namespace
}  // namespace weir
