// thread_time_test.cpp - which threads are kept from their processors, and which are slow or wait.
#include "embedded/engine/thread_time.hpp"

#include <atomic>
#include <chrono>
#include <latch>
#include <thread>

#include <gtest/gtest.h>

namespace weir::embedded::engine {
namespace {

using namespace std::chrono_literals;

constexpr auto never_enough = 24h;

// A thread that runs until it is told to end, or sleeps until then.
class companion {
 public:
  enum class way { runs, sleeps };

  explicit companion(way how) {
    thread_ = std::thread{[this, how] {
      number_ = this_thread_number();
      begun_.count_down();
      while (how == way::runs && !ends_) {
      }
      ends_.wait(false);
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

TEST(ThreadTime, AThreadThatRunsHasItsTime) {
  const companion busy{companion::way::runs};
  const auto before = time_run(busy.number());
  while (time_run(busy.number()) - before < 1ms) std::this_thread::yield();
  EXPECT_FALSE(is_kept(busy.number(), before, 1ms));
}

TEST(ThreadTime, AThreadThatWouldRunAndHasNotHadEnoughIsKept) {
  const companion busy{companion::way::runs};
  EXPECT_TRUE(is_kept(busy.number(), time_run(busy.number()), never_enough));
}

TEST(ThreadTime, AThreadThatSleepsIsNotKept) {
  const companion asleep{companion::way::sleeps};
  while (is_kept(asleep.number(), 0ns, never_enough)) std::this_thread::yield();  // on its way to sleep
  EXPECT_LT(time_run(asleep.number()), never_enough);
}

TEST(ThreadTime, AThreadThatIsGoneHasNoTimeAndIsNotKept) {
  companion gone{companion::way::runs};
  gone.end();
  // The kernel may still be at it for a moment after the join.
  while (time_run(gone.number()) != 0ns) std::this_thread::yield();
  EXPECT_FALSE(is_kept(gone.number(), 0ns, never_enough));
}

}  // namespace
}  // namespace weir::embedded::engine
