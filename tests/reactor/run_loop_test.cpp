// run_loop_test.cpp - continuations run on the thread that blocks for them, as long as it does.
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

// Is told on a thread that it notes, and ends a loop if it has one.
struct noting : completion_waiter {
  noting() {
    by = teller::loop;
    told = [](completion_waiter& self, errc) noexcept {
      auto& me = static_cast<noting&>(self);
      me.there = std::this_thread::get_id();
      if (me.ends != nullptr) me.ends->finish();
      ++me.times;
    };
  }
  void wait_for(int wanted) const {
    while (times != wanted) std::this_thread::yield();
  }

  run_loop* ends = nullptr;
  std::thread::id there;
  std::atomic<int> times{0};
};

// Once as it comes, and once with points that are asked.
class RunLoop : public ::testing::TestWithParam<bool> {
 protected:
  RunLoop() {
    if (GetParam()) calls.emplace();
  }

  // Waits for what the stream has so far.
  void add(completion_waiter& who) const {
    const completion c = s.completion();
    ASSERT_TRUE(add_waiter(*completion_access::where(c), completion_access::ticket(c), who));
  }

  device gpu;
  std::optional<failing_table> calls;
  stream s{gpu};
};

INSTANTIATE_TEST_SUITE_P(Ways, RunLoop, ::testing::Values(false, true),
                         [](const auto& of) { return of.param ? "Asked" : "AsItComes"; });

TEST_P(RunLoop, TellsHere) {
  gate held{s};
  run_loop& loop = run_loop::enter();
  noting first;
  noting last;
  last.ends = &loop;
  add(first);
  add(last);
  held.open();
  loop.run();
  loop.leave();
  EXPECT_EQ(last.there, std::this_thread::get_id());
  first.wait_for(1);
}

TEST_P(RunLoop, WhoStillWaitsIsToldElsewhere) {
  gate held{s};
  run_loop& loop = run_loop::enter();
  noting who;
  add(who);
  loop.finish();
  loop.run();
  loop.leave();
  EXPECT_EQ(who.times, 0);
  held.open();
  who.wait_for(1);
  EXPECT_NE(who.there, std::this_thread::get_id());
}

TEST_P(RunLoop, AWaiterMayWaitAgainOutside) {
  noting who;
  {
    gate held{s};
    run_loop& loop = run_loop::enter();
    who.ends = &loop;
    add(who);
    held.open();
    loop.run();
    loop.leave();
  }
  who.wait_for(1);
  who.ends = nullptr;
  gate held{s};
  add(who);
  held.open();
  who.wait_for(2);
  EXPECT_NE(who.there, std::this_thread::get_id());
}

TEST_P(RunLoop, TheInnermostTells) {
  gate first{s};
  run_loop& outer = run_loop::enter();
  noting waits_outside;
  waits_outside.ends = &outer;
  add(waits_outside);
  run_loop& inner = run_loop::enter();
  noting waits_inside;
  waits_inside.ends = &inner;
  add(waits_inside);
  first.open();
  inner.run();
  inner.leave();
  EXPECT_EQ(waits_inside.there, std::this_thread::get_id());
  EXPECT_EQ(waits_outside.times, 0);
  outer.run();
  outer.leave();
  EXPECT_EQ(waits_outside.there, std::this_thread::get_id());
}

// Ends loops that it is given, one after the other, and sleeps in between: each time it may be anywhere.
class ender {
 public:
  void end(run_loop& one) {
    {
      const std::lock_guard hold{lock_};
      next_ = &one;
    }
    is_there_.notify_one();
  }

 private:
  void run(const std::stop_token& over) {
    std::unique_lock hold{lock_};
    while (is_there_.wait(hold, over, [this] { return next_ != nullptr; })) std::exchange(next_, nullptr)->finish();
  }

  std::mutex lock_;
  std::condition_variable_any is_there_;
  run_loop* next_ = nullptr;
  std::jthread thread_{[this](const std::stop_token& over) { run(over); }};
};

// Another thread may end it at any moment, also between its looks and its sleep. There are more threads than some machines have
// processors for, so that some are interrupted just there.
TEST(RunLoopEnd, ComesFromAnotherThreadAtAnyMoment) {
  constexpr int rounds = 50'000;
  constexpr int pairs = 4;
  std::vector<std::jthread> all;
  for (int i = 0; i < pairs; ++i) {
    all.emplace_back([] {
      ender another;
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
