// SPDX-License-Identifier: Apache-2.0
// graphs/call_batch_test.cpp - calls that wait for blocked streams return, and are reported.
#include "graphs/call_batch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>

namespace weir::graphs {
namespace {

// A driver_under_test that opens its gate at once, and a stream.
class CallBatch : public testing::Test {
 protected:
  CallBatch() {
    target.threads().run(0, [this] {
      made_ = driver_under_test::driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
    });
    expect_success(made_, "cuStreamCreate");
  }
  ~CallBatch() override {
    target.open();
    target.threads().run(0,
                         [this] { (void)driver_under_test::driver().cuStreamDestroy_v2(stream); });
  }

  void hold() {
    const std::uint32_t opening = target.hold();
    target.threads().run(0, [this, opening] {
      made_ = driver_under_test::driver().cuStreamWaitValue32_v2(stream, target.gate(), opening,
                                                                 CU_STREAM_WAIT_VALUE_GEQ);
    });
    expect_success(made_, "cuStreamWaitValue32");
  }
  call_batch::pending_call synchronize() {
    return {"synchronize", CUDA_SUCCESS,
            [this] { return driver_under_test::driver().cuStreamSynchronize(stream); }};
  }
  call_batch::pending_call query() {
    return {"query", CUDA_SUCCESS,
            [this] { return driver_under_test::driver().cuStreamQuery(stream); }};
  }

  driver_under_test target{wait_limit{.time = std::chrono::seconds{0}}};
  CUstream stream = nullptr;

 private:
  CUresult made_ = CUDA_SUCCESS;
};

TEST_F(CallBatch, CallThatWaitsForWhatIsHeldReturnsAndIsTold) {
  hold();
  call_batch calls;
  calls.add(1, synchronize());
  calls.add(1, query());
  calls.make(target);
  EXPECT_FALSE(target.holds());
  EXPECT_TRUE(calls.all()[1][0].waited);
  EXPECT_FALSE(calls.all()[1][1].waited);
  for (const call_batch::pending_call& call : calls.all()[1])
    EXPECT_EQ(call.result, CUDA_SUCCESS) << call.what;
}

TEST_F(CallBatch, CallsOfAllThreadsAtOnceReturnAndAreTold) {
  hold();
  call_batch calls;
  for (unsigned thread = 0; thread < thread_count; ++thread) calls.add(thread, synchronize());
  calls.make(target);
  for (const call_batch::call_list& one : calls.all()) {
    EXPECT_TRUE(one.front().waited);
    EXPECT_EQ(one.front().result, CUDA_SUCCESS);
  }
}

TEST_F(CallBatch, WhatIsHeldAfterwardsWaitsForTheNextOpening) {
  hold();
  call_batch first;
  first.add(0, synchronize());
  first.make(target);
  hold();
  EXPECT_TRUE(target.holds());
  CUresult asked = CUDA_SUCCESS;
  target.threads().run(0, [&] { asked = query().make(); });
  EXPECT_EQ(asked, CUDA_ERROR_NOT_READY);
  target.open();
  call_batch last;
  last.add(2, synchronize());
  last.make(target);
  EXPECT_EQ(last.all()[2].front().result, CUDA_SUCCESS);
  EXPECT_FALSE(last.all()[2].front().waited);
}

// Two threads wait for each other often enough to be polled meanwhile.
TEST_F(CallBatch, CallsThatTakeTheirTimeWhereNothingIsHeldAreNotTold) {
  std::atomic<unsigned> passed{0};
  call_batch calls;
  for (unsigned thread = 0; thread < 2; ++thread) {
    calls.add(thread, {"pass on", CUDA_SUCCESS, [&passed, thread] {
                         for (unsigned at = thread; at < 1000; at += 2) {
                           for (unsigned now = passed; now != at; now = passed) passed.wait(now);
                           ++passed;
                           passed.notify_all();
                         }
                         return CUDA_SUCCESS;
                       }});
  }
  calls.make(target);
  EXPECT_EQ(passed, 1000);
  for (unsigned thread = 0; thread < 2; ++thread) EXPECT_FALSE(calls.all()[thread].front().waited);
}

}  // namespace
}  // namespace weir::graphs
