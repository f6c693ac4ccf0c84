// SPDX-License-Identifier: Apache-2.0
// thread_stopwatch_test.cpp - distinguishes threads that are preempted from threads that are slow
// or wait.
#include "embedded/engine/thread_stopwatch.hpp"

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include <gtest/gtest.h>

#include "embedded/core/shared_processor.hpp"

namespace weir::embedded::engine {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

enum class activity { computes, sleeps };

// A thread that repeats its function until it is stopped.
class other_thread {
 public:
  explicit other_thread(activity kind) {
    thread_ = std::thread{[this, kind] {
      test::pin_to_first_processor();
      id_ = this_thread_id();
      started_.count_down();
      if (kind == activity::sleeps) ends_.wait(false);
      while (!ends_) {
      }
    }};
    started_.wait();
  }
  ~other_thread() { end(); }

  other_thread(const other_thread&) = delete;
  other_thread& operator=(const other_thread&) = delete;

  void end() {
    if (!thread_.joinable()) return;
    ends_ = true;
    ends_.notify_all();
    thread_.join();
  }

  [[nodiscard]] pid_t id() const { return id_; }

 private:
  std::atomic<pid_t> id_{0};
  std::atomic<bool> ends_{false};
  std::latch started_{1};
  std::thread thread_;
};

class ThreadStopwatch : public ::testing::Test {
 protected:
  // Polls for at most `at_most` until the thread has had all of the elapsed time.
  static bool counts_all_time(pid_t thread, std::chrono::nanoseconds at_most) {
    const thread_stopwatch watch{thread, thread_cpu_time(thread)};
    const auto began = clock::now();
    for (std::chrono::nanoseconds elapsed{}; elapsed < at_most; elapsed = clock::now() - began) {
      std::this_thread::sleep_for(1ms);
      if (elapsed != 0ns && watch.unpreempted_time(elapsed) == elapsed) return true;
    }
    return false;
  }

  const test::processor_load busy_{2};
};

TEST_F(ThreadStopwatch, APreemptedThreadHasRunForAPartOfTheTime) {
  const other_thread busy{activity::computes};
  const thread_stopwatch watch{busy.id(), thread_cpu_time(busy.id())};
  const auto began = clock::now();
  const auto before = thread_cpu_time(busy.id());
  while (thread_cpu_time(busy.id()) - before < 20ms) std::this_thread::yield();
  const std::chrono::nanoseconds elapsed = clock::now() - began;
  EXPECT_GE(watch.unpreempted_time(elapsed), 20ms);
  EXPECT_LT(watch.unpreempted_time(elapsed), elapsed);
}

TEST_F(ThreadStopwatch, ASleepingThreadCountsAsNeverPreempted) {
  const other_thread asleep{activity::sleeps};
  EXPECT_TRUE(counts_all_time(asleep.id(), 1min));
}

TEST_F(ThreadStopwatch, AnEndedThreadCountsAsNeverPreempted) {
  other_thread gone{activity::computes};
  gone.end();
  EXPECT_TRUE(counts_all_time(gone.id(), 1min));
}

// The thread id may have been reused by another thread.
TEST_F(ThreadStopwatch, AThreadWithADecreasedCpuTimeCountsAsNeverPreempted) {
  const other_thread busy{activity::computes};
  const thread_stopwatch watch{busy.id(), thread_cpu_time(busy.id()) + 1h};
  EXPECT_EQ(watch.unpreempted_time(1min), 1min);
}

}  // namespace
}  // namespace weir::embedded::engine
