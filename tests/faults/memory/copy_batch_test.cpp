// SPDX-License-Identifier: Apache-2.0
// copy_batch_test.cpp - batches of copies with failing driver calls.
#include <weir/device/context.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy_batch.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"

namespace weir {
namespace {

using detail::driver;
using test::driver_table;
using test::every_call_may_fail;
using test::failure_of;
using test::fault_table;
using test::result_of;

class CopyBatchFaults : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 100;

  device gpu;
  stream s{gpu};
  buffer<int> x{s, size};
  pinned_buffer<int> host{size};
};

TEST_F(CopyBatchFaults, EnqueueingACopyBatchReportsEachFailedCall) {
  copy_batch batch;
  batch.add(host, x);
  every_call_may_fail([&] { batch.enqueue(s); });
  s.sync();
}

// A use on a stream that weir does not own is tracked before the copy. If that fails, nothing is
// queued.
TEST_F(CopyBatchFaults, ACopyIsNotQueuedIfItsUseCannotBeTracked) {
  abi::CUstream raw = nullptr;
  {
    const context_scope current{gpu};
    ASSERT_EQ(driver().cuStreamCreate(&raw, abi::CU_STREAM_NON_BLOCKING), abi::CUDA_SUCCESS);
  }
  s.sync();
  copy_batch batch;
  batch.add(host, x);
  {
    fault_table faults;
    faults.fail(&driver_table::cuEventCreate, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(result_of([&] { batch.enqueue(stream_ref{raw}); }), errc::out_of_memory);
    EXPECT_EQ(faults.count(&driver_table::cuMemcpyBatchAsync_v2), 0);
    batch.enqueue(stream_ref{raw});  // a later attempt succeeds
    stream_ref{raw}.sync();
  }
  EXPECT_EQ(driver().cuStreamDestroy_v2(raw), abi::CUDA_SUCCESS);
}

// Without batches, the error names the copy that failed, and the remaining copies are not queued.
TEST_F(CopyBatchFaults, CopiesAfterAFailedCopyAreNotQueued) {
  copy_batch batch;
  batch.add(host, x).add(host, x).add(host, x);
  fault_table faults;
  faults.fail_from(&driver_table::cuMemcpyBatchAsync_v2, 1,
                   abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
  faults.fail(&driver_table::cuMemcpyAsync, 2, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  const auto failure = failure_of([&] { batch.enqueue(s); });
  ASSERT_TRUE(failure);
  EXPECT_STREQ(failure->call(), "cuMemcpyAsync");
  EXPECT_EQ(faults.count(&driver_table::cuMemcpyAsync), 2);
  faults.fail(&driver_table::cuStreamIsCapturing, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  EXPECT_EQ(result_of([&] { batch.enqueue(s); }), errc::system_not_ready);
  s.sync();
}

}  // namespace
}  // namespace weir
