// SPDX-License-Identifier: Apache-2.0
// verify_test.cpp - verify mode: the error names the operation that failed.
#include <weir/core/verify.hpp>
#include <weir/device/context.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/sync/value_wait.hpp>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "embedded/engine/waiting.hpp"
#include "embedded/model/core/process.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/foreign_capture.hpp"
#include "support/fresh_process.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::failure_of;
using test::result_of;

// Turns verify mode on for one test, with a short timeout.
class verify_mode {
 public:
  verify_mode() : before_{verify_operations(true)} {
    set_verify_timeout(std::chrono::milliseconds{5});
  }
  verify_mode(const verify_mode&) = delete;
  verify_mode& operator=(const verify_mode&) = delete;
  ~verify_mode() {
    set_verify_timeout(std::chrono::seconds{2});
    verify_operations(before_);
  }

 private:
  bool before_;
};

class Verify : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
  pinned_buffer<std::uint32_t> x{64};
};

TEST_F(Verify, VerifyModeCanBeTurnedOnAndOff) {
  ASSERT_FALSE(verifying_operations()) << "the tests run without WEIR_VERIFY";
  EXPECT_FALSE(verify_operations(true));
  EXPECT_TRUE(verifying_operations());
  EXPECT_TRUE(verify_operations(true));
  EXPECT_TRUE(verify_operations(false));
  EXPECT_FALSE(verifying_operations());
}

TEST_F(Verify, SeveralThreadsCanTurnVerifyModeOnAndOff) {
  const driver_table* const before = detail::table_in_use;
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 2000; ++i) static_cast<void>(verify_operations(i % 2 == 0));
    });
  }
  for (std::thread& thread : threads) thread.join();
  static_cast<void>(verify_operations(false));
  EXPECT_EQ(detail::table_in_use, before);
  static_cast<void>(verify_operations(true));
  fill(s, x, 1u);
  static_cast<void>(verify_operations(false));
}

TEST_F(Verify, VerifyModeLeavesTheDriverTableUnchangedAfterwards) {
  const driver_table* const before = detail::table_in_use;
  { const verify_mode on; }
  EXPECT_EQ(detail::table_in_use, before) << "the driver's own table is in use";
}

TEST_F(Verify, AnOperationIsCompleteWhenItReturns) {
  const fault_table calls;
  const verify_mode on;
  set_verify_timeout(std::chrono::minutes{1});
  fill(s, x, 7u);
  EXPECT_EQ(x[63], 7u);
  EXPECT_GT(calls.count(&driver_table::cuStreamQuery), 0);
}

// Only a later query of the stream reports this failure, and verify mode makes that query.
TEST_F(Verify, TheOperationThatFailsIsNamed) {
  s.sync();  // so that only one driver call precedes the fill
  fault_table faults;
  const verify_mode on;
  faults.fail(&driver_table::cuStreamQuery, 2, abi::CUDA_ERROR_ILLEGAL_ADDRESS);
  const unsigned line = __LINE__ + 1;
  const auto failure = failure_of([&] { fill(s, x, 2u); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::illegal_address);
  EXPECT_STREQ(failure->call(), "cuMemsetD32Async");
  EXPECT_EQ(failure->where().line(), line);
  EXPECT_NE(failure->hint().find("was queued and then failed"), std::string::npos);
  s.sync();
}

TEST_F(Verify, AnEarlierFailureIsReportedAsEarlier) {
  fault_table faults;
  const verify_mode on;
  faults.fail(&driver_table::cuStreamQuery, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
  const auto failure = failure_of([&] { fill(s, x, 2u); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::launch_failed);
  EXPECT_NE(failure->hint().find("before the operation was queued"), std::string::npos);
  EXPECT_EQ(faults.count(&driver_table::cuMemsetD32Async), 0);
}

// In a lost context every query returns the error, and verify mode's first call asks whether the
// stream captures.
TEST_F(Verify, AnAlreadyLostContextIsReportedAsAnEarlierFailure) {
  fault_table faults;
  const verify_mode on;
  faults.fail(&driver_table::cuStreamIsCapturing, 1, abi::CUDA_ERROR_ILLEGAL_ADDRESS);
  const auto failure = failure_of([&] { fill(s, x, 2u); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::illegal_address);
  EXPECT_NE(failure->hint().find("before the operation was queued"), std::string::npos);
  EXPECT_EQ(faults.count(&driver_table::cuMemsetD32Async), 0);
}

TEST_F(Verify, AnOperationThatLosesTheContextAtOnceIsNamed) {
  fault_table faults;
  const verify_mode on;
  faults.fail(&driver_table::cuStreamIsCapturing, 2, abi::CUDA_ERROR_ILLEGAL_ADDRESS);
  const auto failure = failure_of([&] { fill(s, x, 2u); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::illegal_address);
  EXPECT_NE(failure->hint().find("was queued and then failed"), std::string::npos);
}

// A destructor cannot throw, so the error reaches the error handler.
TEST_F(Verify, AFailureInADestructorReachesTheErrorHandler) {
  const test::unhandled_errors unhandled;
  fault_table faults;
  const verify_mode on;
  {
    buffer<int> y{s, 10};
    faults.fail(&driver_table::cuStreamQuery, 2, abi::CUDA_ERROR_LAUNCH_FAILED);
  }
  ASSERT_EQ(unhandled.errors().size(), 1u);
  EXPECT_STREQ(unhandled.errors()[0].call(), "cuMemFreeAsync");
  EXPECT_NE(unhandled.errors()[0].hint().find("was queued and then failed"), std::string::npos);
}

// An error of another kind does not carry the hint of an earlier one.
TEST_F(Verify, ARefusedCallIsReportedWithoutVerifyModeAdvice) {
  fault_table faults;
  const verify_mode on;
  faults.fail(&driver_table::cuMemsetD32Async, 1, abi::CUDA_ERROR_INVALID_VALUE);
  const auto failure = failure_of([&] { fill(s, x, 2u); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->hint().find("verify mode"), std::string::npos);
}

TEST_F(Verify, VerifyModeBreaksNoCapture) {
  const verify_mode on;
  const stream other{gpu};
  test::foreign_capture foreign{s, abi::CU_STREAM_CAPTURE_MODE_GLOBAL};
  fill(s, x, 3u);                              // records a node and runs nothing
  write_value(other, wait_word_ref{x, 0}, 4);  // beside the global-mode capture
  EXPECT_TRUE(foreign.end());
  other.sync();
  EXPECT_EQ(x[0], 4u);
}

// Verify mode does not wait for a blocked stream, and waits for it again when its work has
// finished.
TEST_F(Verify, VerifyModeOnlyQueriesABlockedStream) {
  const stream t{gpu};
  wait_word<std::uint32_t> w;
  const verify_mode on;
  set_verify_timeout(std::chrono::minutes{10});
  wait_value(s, w, until::geq, 1);
  fill(s, x, 5u);  // not waited for, as this stream is known to be blocked
  set_verify_timeout(std::chrono::milliseconds{1});
  t.wait(s);  // finds that this stream is blocked, too
  write_value(t, wait_word_ref{x, 1}, 6);
  w.store(1);
  t.sync();
  set_verify_timeout(std::chrono::minutes{1});
  fill(s, x, 8u);
  EXPECT_EQ(x[1], 8u);
}

TEST_F(Verify, AHostFunctionExceptionIsThrownAtOnce) {
  const verify_mode on;
  set_verify_timeout(std::chrono::minutes{1});
  EXPECT_THROW(launch_host(s, [] { throw std::runtime_error{"at once"}; }), std::runtime_error);
  s.sync();
}

// A closure is destroyed once, whatever the wait for it returns.
TEST_F(Verify, AClosureIsDestroyedOnceEvenIfTheWaitFails) {
  fault_table faults;
  int runs = 0;
  {
    const verify_mode on;
    launch_host(s, [&runs, kept = event{gpu}] { ++runs; });
    faults.fail(&driver_table::cuStreamQuery, 2, abi::CUDA_ERROR_ILLEGAL_ADDRESS);
    launch_host(s, [&runs, kept = event{gpu}] { ++runs; });
  }
  s.sync();
  EXPECT_EQ(runs, 2);
}

struct failing_work {
  void run() noexcept { embedded::engine::fail_device(abi::CUDA_ERROR_ILLEGAL_ADDRESS); }
};

// Here the earlier work really fails: without verify mode the fill succeeds, and the sync gets the
// error.
TEST_F(Verify, FailedEarlierWorkIsNotBlamedOnTheOperation) {
  if (!gpu.is_embedded()) GTEST_SKIP() << "needs a device that fails on request";
  test::in_a_fresh_process([] {
    const stream mine{device{}};
    pinned_buffer<std::uint32_t> memory{64};
    const verify_mode on;
    set_verify_timeout(std::chrono::minutes{1});
    fill(mine, memory, 1u);
    embedded::model::this_process()
        .streams.find(mine.get())
        ->submit(embedded::engine::make_operation(failing_work{}));
    const auto failure = failure_of([&] { fill(mine, memory, 2u); });
    return WEIR_HOLDS(failure && failure->result() == errc::illegal_address) &&
           WEIR_HOLDS(failure->hint().find("before the operation") != std::string::npos) &&
           WEIR_HOLDS(memory[0] == 1u);
  });
}

}  // namespace
}  // namespace weir
