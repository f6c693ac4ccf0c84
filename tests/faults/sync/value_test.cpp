// SPDX-License-Identifier: Apache-2.0
// value_test.cpp - words, waits for them and batches with failing driver calls.
#include <weir/device/context.hpp>
#include <weir/sync/value_batch.hpp>
#include <weir/sync/value_wait.hpp>

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"
#include "support/foreign_capture.hpp"

namespace weir {
namespace {

using detail::driver;
using test::driver_table;
using test::every_call_may_fail;
using test::failure_of;
using test::fault_table;
using test::result_of;

class ValueFaults : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
  wait_word<std::uint32_t> w32;
  wait_word<std::uint64_t> w64;
};

TEST_F(ValueFaults, ValueWaitsAndWritesReportEachFailedCall) {
  every_call_may_fail([&] { wait_value(s, w32, until::eq, 0); });
  every_call_may_fail([&] { wait_value(s, w64, until::eq, 0); });
  every_call_may_fail([&] { write_value(s, w32, 0); });
  every_call_may_fail([&] { write_value(s, w64, 0); });
  s.sync();
}

TEST_F(ValueFaults, SubmittingAValueBatchReportsEachFailedCall) {
  value_batch batch;
  batch.write(w32, 0).wait(w64, until::eq, 0);
  every_call_may_fail([&] { batch.submit(s); });
  s.sync();
}

// The error names the word for any driver code. For a batch whose failing step is unknown it names
// the number of steps.
TEST_F(ValueFaults, AFailedValueOperationNamesItsWord) {
  fault_table faults;
  faults.fail(&driver_table::cuStreamWriteValue32_v2, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
  const auto single = failure_of([&] { write_value(s, w32, 1); });
  ASSERT_TRUE(single);
  EXPECT_EQ(single->result(), errc::out_of_memory);
  EXPECT_NE(single->object().find(", word at 0x"), std::string::npos) << single->what();
  EXPECT_FALSE(single->hint().empty());
  value_batch batch;
  batch.write(w32, 1).write(w64, 1);
  for (const abi::CUresult code : {abi::CUDA_ERROR_OUT_OF_MEMORY, abi::CUDA_ERROR_INVALID_VALUE}) {
    faults.fail(&driver_table::cuStreamBatchMemOp_v2, 1, code);
    const auto several = failure_of([&] { batch.submit(s); });
    ASSERT_TRUE(several);
    EXPECT_NE(several->object().find(", a batch of 2"), std::string::npos) << several->what();
  }
  s.sync();
  EXPECT_EQ(w32.load(), 0u);
}

// The queries that find the cause of an error may fail, too.
TEST_F(ValueFaults, AnErrorIsReportedEvenIfItsDetailsCannotBeQueried) {
  fault_table faults;
  std::uint32_t pageable = 0;
  faults.fail_from(&driver_table::cuPointerGetAttributes, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  EXPECT_EQ(result_of([&] { write_value(s, wait_word_ref<std::uint32_t>{&pageable}, 1); }),
            errc::invalid_value);
  faults.fail_from(&driver_table::cuDeviceGetAttribute, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  faults.fail(&driver_table::cuStreamWaitValue32_v2, 1, abi::CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(result_of([&] { wait_value(s, w32, until::eq, 0, {.flush = true}); }),
            errc::not_supported);
  EXPECT_GT(faults.count(&driver_table::cuPointerGetAttributes), 0);
}

// A capture does not check where an address lies, so the address is not named as the cause.
TEST_F(ValueFaults, ACaptureErrorDoesNotBlameTheAddressOfAWord) {
  test::foreign_capture foreign{s, abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL};
  std::uint32_t pageable = 0;
  value_batch batch;
  batch.write(w32, 1).write(wait_word_ref<std::uint32_t>{&pageable}, 1);
  fault_table faults;
  faults.fail(&driver_table::cuStreamBatchMemOp_v2, 1, abi::CUDA_ERROR_INVALID_VALUE);
  const auto failure = failure_of([&] { batch.submit(s); });
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->object().find(", a batch of 2"), std::string::npos) << failure->what();
  EXPECT_TRUE(foreign.end());
}

// Details are queried only after an error.
TEST_F(ValueFaults, ASuccessfulWriteMakesOneDriverCall) {
  const fault_table calls;
  write_value(s, w32, 1);
  EXPECT_EQ(calls.count_all(), 1);
  s.sync();
}

TEST_F(ValueFaults, DeviceCapabilityQueriesReportEachFailedCall) {
  every_call_may_fail([&] { static_cast<void>(wait_word_support(gpu)); });
}

// On a stream that weir does not own, each use is recorded by an event, which is created before
// anything is queued.
TEST_F(ValueFaults, AValueBatchIsNotQueuedIfItsUseCannotBeTracked) {
  abi::CUstream raw = nullptr;
  {
    const context_scope current{gpu};
    ASSERT_EQ(driver().cuStreamCreate(&raw, abi::CU_STREAM_NON_BLOCKING), abi::CUDA_SUCCESS);
  }
  value_batch batch;
  batch.write(w32, 1);
  {
    fault_table faults;
    faults.fail(&driver_table::cuEventCreate, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(result_of([&] { batch.submit(raw); }), errc::out_of_memory);
    EXPECT_EQ(faults.count(&driver_table::cuStreamBatchMemOp_v2), 0);
    batch.submit(raw);
    EXPECT_EQ(faults.count(&driver_table::cuEventRecord), 1);
  }
  stream_ref{raw}.sync();
  EXPECT_EQ(w32.load(), 1u);
  EXPECT_EQ(driver().cuStreamDestroy_v2(raw), abi::CUDA_SUCCESS);
}

// A failed allocation of a page changes nothing.
TEST_F(ValueFaults, AFailedPageAllocationLeavesAllWordsUsable) {
  std::vector<wait_word<std::uint32_t>> all;
  fault_table faults;
  faults.fail(&driver_table::cuMemHostAlloc, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
  const auto failure = failure_of([&] {
    for (int i = 0; i < 1000; ++i) all.emplace_back();
  });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::out_of_memory);
  EXPECT_STREQ(failure->call(), "cuMemHostAlloc");
  EXPECT_EQ(result_of([&] { all.emplace_back(); }), errc::success);
  EXPECT_EQ(faults.count(&driver_table::cuMemHostAlloc), 2);
}

}  // namespace
}  // namespace weir
