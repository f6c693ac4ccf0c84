// passed_on_test.cpp - for how long a step waits for what it has left to another thread.
#include "embedded/engine/passed_on.hpp"

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include <gtest/gtest.h>

#include "embedded/engine/thread_watch.hpp"
#include "embedded/engine/timeline.hpp"
#include "embedded/core/one_processor.hpp"

namespace weir::embedded::engine {
namespace {

using namespace std::chrono_literals;

class PassedOn : public ::testing::Test {
 protected:
  static constexpr auto long_works = elsewhere::long_threads;

  // A thread that begins with an operation of the timeline, and has run it when the work returns.
  template <class Work>
  std::jthread begin(timeline& line, Work work) {
    std::latch begun{1};
    std::jthread thread{[&, work] {
      test::share_a_processor();
      one_.begins(line, long_works);
      begun.count_down();
      work();
      one_.has_run(line, long_works);
    }};
    begun.wait();
    return thread;
  }

  void TearDown() override {
    line_.release_when_drained();
    other_line_.release_when_drained();
  }

  passed_on one_;
  timeline& line_ = timeline::acquire();
  timeline& other_line_ = timeline::acquire();
};

// Of a processor.
void compute_for(std::chrono::nanoseconds time) {
  const auto before = time_run(this_thread_number());
  while (time_run(this_thread_number()) - before < time) {
  }
}

TEST_F(PassedOn, WhatIsDoneIsNotWaitedFor) {
  one_.expect(line_);
  begin(line_, [] {}).join();
  one_.wait(long_works, 1h);
}

TEST_F(PassedOn, WhatComputesIsWaitedForHoweverSlowTheMachineIs) {
  const test::busy_processor beside{3};
  std::atomic<bool> ended{false};
  one_.expect(line_);
  const std::jthread thread = begin(line_, [&] {
    compute_for(15ms);
    ended = true;
  });
  one_.wait(long_works, 50ms);
  EXPECT_TRUE(ended);
}

TEST_F(PassedOn, WhatWaitsIsGivenUp) {
  std::atomic<bool> let_go{false};
  one_.expect(line_);
  const std::jthread thread = begin(line_, [&] { let_go.wait(false); });
  one_.wait(long_works, 20ms);
  let_go = true;
  let_go.notify_all();
}

TEST_F(PassedOn, WhatYieldsIsGivenUpOnABusyMachineToo) {
  const test::busy_processor beside{3};
  std::atomic<bool> let_go{false};
  one_.expect(line_);
  const std::jthread thread = begin(line_, [&] {
    while (!let_go) std::this_thread::yield();
  });
  one_.wait(long_works, 20ms);
  let_go = true;
}

// The threads may all be taken by what was given up.
TEST_F(PassedOn, WhatCannotBeginIsGivenUp) {
  std::atomic<bool> let_go{false};
  one_.expect(line_);
  const std::jthread thread = begin(line_, [&] { let_go.wait(false); });
  one_.wait(long_works, 20ms);
  one_.expect(other_line_);
  one_.wait(long_works, 20ms);
  let_go = true;
  let_go.notify_all();
}

TEST_F(PassedOn, WhatWasGivenUpEndsNoOtherWait) {
  std::atomic<bool> let_go{false};
  std::atomic<bool> ended{false};
  one_.expect(line_);
  std::jthread left_over = begin(line_, [&] { let_go.wait(false); });
  one_.wait(long_works, 20ms);
  one_.expect(other_line_);
  const std::jthread thread = begin(other_line_, [&] {
    left_over.join();
    compute_for(2ms);
    ended = true;
  });
  let_go = true;
  let_go.notify_all();
  one_.wait(long_works, 10s);
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace weir::embedded::engine
