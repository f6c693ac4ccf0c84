// completion_drive_test.cpp - loops of the program that poll, and threads that wait beside them.
#include <weir/completion.hpp>
#include <weir/reactor.hpp>
#include <weir/stream.hpp>

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "support/completion_ways.hpp"
#include "support/detached.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using test::detached;
using test::gate;

class CompletionDrive : public test::completion_ways {};
INSTANTIATE_TEST_SUITE_P(Ways, CompletionDrive, ::testing::Values(false, true), test::name_of_way);

// Opens a gate once whoever waits has gone to sleep, most likely.
class late_opener {
 public:
  explicit late_opener(gate& held)
      : thread_{[&held] {
          const auto then = std::chrono::steady_clock::now() + 2ms;
          while (std::chrono::steady_clock::now() < then) std::this_thread::yield();
          held.open();
        }} {}

 private:
  std::jthread thread_;
};

// Nobody else drives then; whoever does may not rely on being woken.
TEST_P(CompletionDrive, AThreadThatDrivesMayWait) {
  const reactor_drive drive{gpu};
  {
    gate held{s};
    const completion c = s.completion();
    const late_opener opens{held};
    c.wait();
  }
  gate held{s};
  const completion c = s.completion();
  const late_opener opens{held};
  EXPECT_TRUE(c.wait_for(1h));
}

TEST_P(CompletionDrive, AnotherThreadMayWaitWhileNobodyPolls) {
  const reactor_drive drive{gpu};
  gate held{s};
  const completion c = s.completion();
  std::jthread waits{[&] { c.wait(); }};
  held.open();
  waits.join();
}

TEST_P(CompletionDrive, APollingLoopResumesHere) {
  reactor_drive drive{gpu};
  gate held{s};
  const completion c = s.completion();
  std::thread::id there;
  std::atomic<bool> resumed{false};
  [](completion awaited, std::thread::id& where, std::atomic<bool>& done) -> detached {
    co_await awaited;
    where = std::this_thread::get_id();
    done = true;
  }(c, there, resumed);
  EXPECT_EQ(drive.poll(), 0U);
  held.open();
  while (!resumed) drive.poll();
  EXPECT_TRUE(c.done());
  EXPECT_EQ(there, std::this_thread::get_id());
}

}  // namespace
}  // namespace weir
