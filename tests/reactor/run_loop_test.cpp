// SPDX-License-Identifier: Apache-2.0
// run_loop_test.cpp - continuations run on the thread that blocks for them, while it blocks.
#include "reactor/run_loop.hpp"

#include <weir/completion/completion.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "api/completion/completion_access.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace weir::detail {
namespace {

using test::gate;

// Records the thread that notifies it, and finishes a loop if it has one.
struct recording_waiter : completion_waiter {
  recording_waiter() {
    policy = resume_policy::waiting_thread;
    on_complete = [](completion_waiter& self, errc) noexcept {
      auto& me = static_cast<recording_waiter&>(self);
      me.thread = std::this_thread::get_id();
      if (me.loop_to_finish != nullptr) me.loop_to_finish->finish();
      ++me.notifications;
    };
  }
  void wait_for(int wanted) const {
    while (notifications != wanted) std::this_thread::yield();
  }

  run_loop* loop_to_finish = nullptr;
  std::thread::id thread;
  std::atomic<int> notifications{0};
};

// Runs each test with the driver as it is, and with points that are polled.
class RunLoop : public ::testing::TestWithParam<bool> {
 protected:
  RunLoop() {
    if (GetParam()) calls.emplace();
  }

  // Registers the waiter for all work enqueued so far.
  void add(completion_waiter& waiter) const {
    const completion c = s.completion();
    ASSERT_TRUE(add_waiter(*completion_access::queue(c), completion_access::ticket(c), waiter));
  }

  device gpu;
  std::optional<fault_table> calls;
  stream s{gpu};
};

INSTANTIATE_TEST_SUITE_P(Ways, RunLoop, ::testing::Values(false, true),
                         [](const auto& of) { return of.param ? "Asked" : "AsItComes"; });

TEST_P(RunLoop, ARunLoopNotifiesOnItsOwnThread) {
  gate held{s};
  run_loop& loop = run_loop::enter();
  recording_waiter first;
  recording_waiter last;
  last.loop_to_finish = &loop;
  add(first);
  add(last);
  held.open();
  loop.run();
  loop.leave();
  EXPECT_EQ(last.thread, std::this_thread::get_id());
  first.wait_for(1);
}

TEST_P(RunLoop, WaitersLeftByARunLoopAreNotifiedOnAnotherThread) {
  gate held{s};
  run_loop& loop = run_loop::enter();
  recording_waiter waiter;
  add(waiter);
  loop.finish();
  loop.run();
  loop.leave();
  EXPECT_EQ(waiter.notifications, 0);
  held.open();
  waiter.wait_for(1);
  EXPECT_NE(waiter.thread, std::this_thread::get_id());
}

TEST_P(RunLoop, AWaiterCanWaitAgainOutsideTheRunLoop) {
  recording_waiter waiter;
  {
    gate held{s};
    run_loop& loop = run_loop::enter();
    waiter.loop_to_finish = &loop;
    add(waiter);
    held.open();
    loop.run();
    loop.leave();
  }
  waiter.wait_for(1);
  waiter.loop_to_finish = nullptr;
  gate held{s};
  add(waiter);
  held.open();
  waiter.wait_for(2);
  EXPECT_NE(waiter.thread, std::this_thread::get_id());
}

TEST_P(RunLoop, TheInnermostRunLoopNotifiesItsOwnWaiters) {
  gate first{s};
  run_loop& outer = run_loop::enter();
  recording_waiter waits_outside;
  waits_outside.loop_to_finish = &outer;
  add(waits_outside);
  run_loop& inner = run_loop::enter();
  recording_waiter waits_inside;
  waits_inside.loop_to_finish = &inner;
  add(waits_inside);
  first.open();
  inner.run();
  inner.leave();
  EXPECT_EQ(waits_inside.thread, std::this_thread::get_id());
  EXPECT_EQ(waits_outside.notifications, 0);
  outer.run();
  outer.leave();
  EXPECT_EQ(waits_outside.thread, std::this_thread::get_id());
}

// Finishes loops on another thread, one after the other. It sleeps in between, so its timing
// varies.
class finisher {
 public:
  void end(run_loop& one) {
    {
      const std::lock_guard hold{lock_};
      next_ = &one;
    }
    has_next_.notify_one();
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock hold{lock_};
    while (has_next_.wait(hold, stop, [this] { return next_ != nullptr; }))
      std::exchange(next_, nullptr)->finish();
  }

  std::mutex lock_;
  std::condition_variable_any has_next_;
  run_loop* next_ = nullptr;
  std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};
};

// finish() may come at any moment, also between the loop's last check and its sleep. There are more
// threads than some machines have processors, so that some are preempted there.
TEST(RunLoopEnd, AnotherThreadCanEndARunLoopAtAnyMoment) {
  constexpr int rounds = 50'000;
  constexpr int pairs = 4;
  std::vector<std::jthread> all;
  for (int i = 0; i < pairs; ++i) {
    all.emplace_back([] {
      finisher another;
      for (int round = 0; round < rounds; ++round) {
        run_loop& loop = run_loop::enter();
        another.end(loop);
        loop.run();
        loop.leave();
      }
    });
  }
}

}  // namespace
}  // namespace weir::detail
