// SPDX-License-Identifier: Apache-2.0
// completion_failure_test.cpp - errors of the driver when a completion is created or polled.
#include <weir/completion/completion.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/stream.hpp>

#include <future>

#include <gtest/gtest.h>

#include "support/completion_modes.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::await;
using test::gate;
using test::result_of;

TEST(CompletionFailure, AFailedEventRecordIsThrown) {
  const device gpu;
  fault_table calls;
  const stream s{gpu};
  calls.fail(&driver_table::cuEventRecord, 1, abi::CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(result_of([&] { static_cast<void>(s.completion()); }), errc::out_of_memory);
  s.completion().wait();
}

TEST(CompletionFailure, AFailedEventQuerySettlesTheCompletion) {
  const device gpu;
  fault_table calls;
  const stream s{gpu};
  gate held{s};
  const completion c = s.completion();
  std::promise<errc> answer;
  calls.fail_from(&driver_table::cuEventQuery, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
  await(c, answer);
  EXPECT_EQ(answer.get_future().get(), errc::launch_failed);
  EXPECT_EQ(c.status(), errc::launch_failed);
  EXPECT_EQ(result_of([&] { c.wait(); }), errc::launch_failed);
  held.open();
  s.sync();
  EXPECT_EQ(c.status(), errc::launch_failed);  // the outcome is final
}

}  // namespace
}  // namespace weir
