// graphs/turn_test.cpp - calls that wait for what is held return, and are told.
#include "graphs/turn.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>

namespace weir::graphs {
namespace {

// A lane that lets go at once, and a stream.
class Turn : public testing::Test {
 protected:
  Turn() {
    on.threads().run(0, [this] { made_ = lane::driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING); });
    must(made_, "cuStreamCreate");
  }
  ~Turn() override {
    on.open();
    on.threads().run(0, [this] { (void)lane::driver().cuStreamDestroy_v2(stream); });
  }

  void hold() {
    const std::uint32_t opening = on.hold();
    on.threads().run(0, [this, opening] {
      made_ = lane::driver().cuStreamWaitValue32_v2(stream, on.gate(), opening, CU_STREAM_WAIT_VALUE_GEQ);
    });
    must(made_, "cuStreamWaitValue32");
  }
  turn::one synchronize() {
    return {"synchronize", CUDA_SUCCESS, [this] { return lane::driver().cuStreamSynchronize(stream); }};
  }
  turn::one query() {
    return {"query", CUDA_SUCCESS, [this] { return lane::driver().cuStreamQuery(stream); }};
  }

  lane on{patience{.time = std::chrono::seconds{0}}};
  CUstream stream = nullptr;

 private:
  CUresult made_ = CUDA_SUCCESS;
};

TEST_F(Turn, CallThatWaitsForWhatIsHeldReturnsAndIsTold) {
  hold();
  turn calls;
  calls.add(1, synchronize());
  calls.add(1, query());
  calls.make(on);
  EXPECT_FALSE(on.holds());
  EXPECT_TRUE(calls.all()[1][0].waited);
  EXPECT_FALSE(calls.all()[1][1].waited);
  for (const turn::one& call : calls.all()[1]) EXPECT_EQ(call.made, CUDA_SUCCESS) << call.what;
}

TEST_F(Turn, CallsOfAllThreadsAtOnceReturnAndAreTold) {
  hold();
  turn calls;
  for (unsigned thread = 0; thread < thread_count; ++thread) calls.add(thread, synchronize());
  calls.make(on);
  for (const turn::calls& one : calls.all()) {
    EXPECT_TRUE(one.front().waited);
    EXPECT_EQ(one.front().made, CUDA_SUCCESS);
  }
}

TEST_F(Turn, WhatIsHeldAfterwardsWaitsForTheNextOpening) {
  hold();
  turn first;
  first.add(0, synchronize());
  first.make(on);
  hold();
  EXPECT_TRUE(on.holds());
  CUresult asked = CUDA_SUCCESS;
  on.threads().run(0, [&] { asked = query().make(); });
  EXPECT_EQ(asked, CUDA_ERROR_NOT_READY);
  on.open();
  turn last;
  last.add(2, synchronize());
  last.make(on);
  EXPECT_EQ(last.all()[2].front().made, CUDA_SUCCESS);
  EXPECT_FALSE(last.all()[2].front().waited);
}

// Two threads wait for each other often enough to be looked at meanwhile.
TEST_F(Turn, CallsThatTakeTheirTimeWhereNothingIsHeldAreNotTold) {
  std::atomic<unsigned> passed{0};
  turn calls;
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
  calls.make(on);
  EXPECT_EQ(passed, 1000);
  for (unsigned thread = 0; thread < 2; ++thread) EXPECT_FALSE(calls.all()[thread].front().waited);
}

}  // namespace
}  // namespace weir::graphs
