// thread_watch_test.cpp - which threads are kept from their processor, and which are slow or wait.
#include "embedded/engine/thread_watch.hpp"

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include <gtest/gtest.h>

#include "embedded/core/one_processor.hpp"

namespace weir::embedded::engine {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

enum class way { computes, sleeps };

// A thread that goes on in its way until it is told to end.
class companion {
 public:
  explicit companion(way how) {
    thread_ = std::thread{[this, how] {
      test::share_a_processor();
      number_ = this_thread_number();
      begun_.count_down();
      if (how == way::sleeps) ends_.wait(false);
      while (!ends_) {
      }
    }};
    begun_.wait();
  }
  ~companion() { end(); }

  companion(const companion&) = delete;
  companion& operator=(const companion&) = delete;

  void end() {
    if (!thread_.joinable()) return;
    ends_ = true;
    ends_.notify_all();
    thread_.join();
  }

  [[nodiscard]] pid_t number() const { return number_; }

 private:
  std::atomic<pid_t> number_{0};
  std::atomic<bool> ends_{false};
  std::latch begun_{1};
  std::thread thread_;
};

class ThreadWatch : public ::testing::Test {
 protected:
  // Looks now and then, for so long, whether the thread has had all of the time.
  static bool has_had_all(pid_t thread, std::chrono::nanoseconds at_most) {
    const thread_watch watch{thread, time_run(thread)};
    const auto began = clock::now();
    for (std::chrono::nanoseconds passed{}; passed < at_most; passed = clock::now() - began) {
      std::this_thread::sleep_for(1ms);
      if (passed != 0ns && watch.time_had(passed) == passed) return true;
    }
    return false;
  }

  const test::busy_processor beside_{2};
};

TEST_F(ThreadWatch, AThreadThatComputesBesideOthersHasHadAPart) {
  const companion busy{way::computes};
  const thread_watch watch{busy.number(), time_run(busy.number())};
  const auto began = clock::now();
  const auto before = time_run(busy.number());
  while (time_run(busy.number()) - before < 20ms) std::this_thread::yield();
  const std::chrono::nanoseconds passed = clock::now() - began;
  EXPECT_GE(watch.time_had(passed), 20ms);
  EXPECT_LT(watch.time_had(passed), passed);
}

TEST_F(ThreadWatch, AThreadThatSleepsHasHadAll) {
  const companion asleep{way::sleeps};
  EXPECT_TRUE(has_had_all(asleep.number(), 1min));
}

TEST_F(ThreadWatch, AThreadThatIsGoneHasHadAll) {
  companion gone{way::computes};
  gone.end();
  EXPECT_TRUE(has_had_all(gone.number(), 1min));
}

// A number may be another thread's by now.
TEST_F(ThreadWatch, AThreadThatHasRunLessThanItHadHasHadAll) {
  const companion busy{way::computes};
  const thread_watch watch{busy.number(), time_run(busy.number()) + 1h};
  EXPECT_EQ(watch.time_had(1min), 1min);
}

}  // namespace
}  // namespace weir::embedded::engine
