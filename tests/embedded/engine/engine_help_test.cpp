// SPDX-License-Identifier: Apache-2.0
// engine_help_test.cpp - a thread that runs available work for a point without waiting for it.
#include "embedded/services.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "embedded/engine/scheduler.hpp"
#include "embedded/memory/memory_fixture.hpp"

namespace weir::embedded {
namespace {

using detail::engine_services;
using detail::timeline_point;
using detail::work_context;

class EngineHelp : public memory_test {
 protected:
  static bool is_deterministic() {
    return engine::scheduler::instance().deterministic() != nullptr;
  }
  timeline_point end_of_stream(CUstream stream) const {
    timeline_point end;
    work_context home;
    EXPECT_EQ(engine.end_of_stream(stream, end, home), CUDA_SUCCESS);
    return end;
  }

  const engine_services& engine = services();
};

TEST_F(EngineHelp, HelpDoesNotWait) {
  const test_stream s;
  stream_gate h{s};
  const timeline_point end = end_of_stream(s);
  engine.run_pending_work(end);
  EXPECT_FALSE(engine.reached(end));
  h.open();
  while (!engine.reached(end)) engine.run_pending_work(end);
  EXPECT_EQ(engine.run_pending_work(end), is_deterministic());
}

// run_pending_work() returns between operations, so a caller with a deadline can check the time.
TEST_F(EngineHelp, HelpReturnsBeforeAllWorkIsDone) {
  if (!is_deterministic()) GTEST_SKIP() << "workers run it meanwhile";
  constexpr int all = 50;
  const test_stream s;
  stream_gate h{s};  // blocks them while they are queued
  std::atomic<int> ended{0};
  for (int i = 0; i < all; ++i) {
    const auto take_a_while = [](void* counter) {
      const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{1};
      while (std::chrono::steady_clock::now() < until) {
      }
      ++*static_cast<std::atomic<int>*>(counter);
    };
    ASSERT_EQ(driver.cuLaunchHostFunc(s, take_a_while, &ended), CUDA_SUCCESS);
  }
  const timeline_point end = end_of_stream(s);
  h.open();
  engine.run_pending_work(end);
  EXPECT_LT(ended, all);
  while (!engine.wait_spinning(end)) std::this_thread::yield();
  EXPECT_EQ(ended, all);
}

}  // namespace
}  // namespace weir::embedded
