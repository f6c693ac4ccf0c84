// SPDX-License-Identifier: Apache-2.0
// offloaded_operation_test.cpp - how long a step waits for an operation that it offloaded to
// another thread.
#include "embedded/engine/offloaded_operation.hpp"

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include <gtest/gtest.h>

#include "embedded/core/shared_processor.hpp"
#include "embedded/engine/thread_stopwatch.hpp"
#include "embedded/engine/timeline.hpp"

namespace weir::embedded::engine {
namespace {

using namespace std::chrono_literals;

class OffloadedOperation : public ::testing::Test {
 protected:
  static constexpr auto long_work = offload_target::long_work_threads;

  // Returns a thread that has started the operation of the timeline and runs `work` inside of it.
  template <class Work>
  std::jthread begin(timeline& line, Work work) {
    std::latch started{1};
    std::jthread thread{[&, work] {
      test::pin_to_first_processor();
      const offloaded_operation::step_number step = operation_.on_start(line, long_work);
      started.count_down();
      work();
      operation_.on_finish(step, long_work);
    }};
    started.wait();
    return thread;
  }

  void TearDown() override {
    line_.release_when_drained();
    other_line_.release_when_drained();
  }

  offloaded_operation operation_;
  timeline& line_ = timeline::acquire();
  timeline& other_line_ = timeline::acquire();
};

// Uses this much processor time.
void compute_for(std::chrono::nanoseconds time) {
  const auto before = thread_cpu_time(this_thread_id());
  while (thread_cpu_time(this_thread_id()) - before < time) {
  }
}

TEST_F(OffloadedOperation, CompletedWorkIsNotWaitedFor) {
  operation_.expect_offload(line_);
  begin(line_, [] {}).join();
  operation_.wait_until_finished(long_work, 1h);
}

TEST_F(OffloadedOperation, ComputingWorkIsWaitedForOnASlowMachine) {
  const test::processor_load busy{3};
  std::atomic<bool> ended{false};
  operation_.expect_offload(line_);
  const std::jthread thread = begin(line_, [&] {
    compute_for(15ms);
    ended = true;
  });
  operation_.wait_until_finished(long_work, 50ms);
  EXPECT_TRUE(ended);
}

TEST_F(OffloadedOperation, BlockedWorkIsAbandoned) {
  std::atomic<bool> release{false};
  operation_.expect_offload(line_);
  const std::jthread thread = begin(line_, [&] { release.wait(false); });
  operation_.wait_until_finished(long_work, 20ms);
  release = true;
  release.notify_all();
}

TEST_F(OffloadedOperation, YieldingWorkIsAbandonedOnABusyMachine) {
  const test::processor_load busy{3};
  std::atomic<bool> release{false};
  operation_.expect_offload(line_);
  const std::jthread thread = begin(line_, [&] {
    while (!release) std::this_thread::yield();
  });
  operation_.wait_until_finished(long_work, 20ms);
  release = true;
}

// Abandoned operations may occupy all threads.
TEST_F(OffloadedOperation, WorkThatCannotStartIsAbandoned) {
  std::atomic<bool> release{false};
  operation_.expect_offload(line_);
  const std::jthread thread = begin(line_, [&] { release.wait(false); });
  operation_.wait_until_finished(long_work, 20ms);
  operation_.expect_offload(other_line_);
  operation_.wait_until_finished(long_work, 20ms);
  release = true;
  release.notify_all();
}

TEST_F(OffloadedOperation, AbandonedWorkEndsNoLaterWait) {
  std::atomic<bool> release{false};
  std::atomic<bool> ended{false};
  operation_.expect_offload(line_);
  std::jthread earlier = begin(line_, [&] { release.wait(false); });
  operation_.wait_until_finished(long_work, 20ms);
  operation_.expect_offload(other_line_);
  const std::jthread thread = begin(other_line_, [&] {
    earlier.join();
    compute_for(2ms);
    ended = true;
  });
  release = true;
  release.notify_all();
  operation_.wait_until_finished(long_work, 10s);
  EXPECT_TRUE(ended);
}

// The thread of an abandoned operation releases the timeline before it calls on_finish().
TEST_F(OffloadedOperation, AbandonedWorkEndsNoLaterWaitOfItsTimeline) {
  operation_.expect_offload(line_);
  const offloaded_operation::step_number abandoned = operation_.on_start(line_, long_work);
  operation_.wait_until_finished(long_work, 1ms);
  std::atomic<bool> ended{false};
  operation_.expect_offload(line_);
  const std::jthread thread = begin(line_, [&] {
    operation_.on_finish(abandoned, long_work);
    compute_for(2ms);
    ended = true;
  });
  operation_.wait_until_finished(long_work, 10s);
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace weir::embedded::engine
