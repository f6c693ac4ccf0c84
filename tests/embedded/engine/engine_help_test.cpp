// engine_help_test.cpp - a thread that runs what there is to run for a point, and does not wait for it.
#include "embedded/services.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "embedded/memory/memory_fixture.hpp"

namespace weir::embedded {
namespace {

using detail::engine_services;
using detail::work_home;
using detail::work_point;

class EngineHelp : public memory_test {
 protected:
  static bool steps_are_left_to_those_who_wait() {
    const char* const schedule = std::getenv("WEIR_EMBEDDED_SCHEDULE");
    const std::string_view in_use = schedule != nullptr ? schedule : "";
    return in_use.starts_with("late") || in_use.starts_with("random");
  }
  work_point end_of(CUstream stream) const {
    work_point end;
    work_home home;
    EXPECT_EQ(engine.end_of(stream, end, home), CUDA_SUCCESS);
    return end;
  }

  const engine_services& engine = services();
};

TEST_F(EngineHelp, DoesNotWait) {
  const test_stream s;
  held h{s};
  const work_point end = end_of(s);
  engine.help(end);
  EXPECT_FALSE(engine.reached(end));
  h.open();
  while (!engine.reached(end)) engine.help(end);
  EXPECT_EQ(engine.help(end), steps_are_left_to_those_who_wait());
}

// Who has a deadline looks at it in between.
TEST_F(EngineHelp, DoesNotTakeLong) {
  if (!steps_are_left_to_those_who_wait()) GTEST_SKIP() << "workers run it meanwhile";
  constexpr int all = 50;
  const test_stream s;
  held h{s};  // none of them runs while they are queued
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
  const work_point end = end_of(s);
  h.open();
  engine.help(end);
  EXPECT_LT(ended, all);
  while (!engine.wait_awake(end)) std::this_thread::yield();
  EXPECT_EQ(ended, all);
}

}  // namespace
}  // namespace weir::embedded
