// SPDX-License-Identifier: Apache-2.0
// when_deadline_test.cpp - awaits with a deadline, with any clock.
#include <weir/completion/completion.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>
#include <weir/completion/when.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/completion_modes.hpp"
#include "support/detached.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::detached;
using test::gate;
using namespace std::chrono_literals;

class WhenDeadline : public test::completion_modes {
 protected:
  stream t{gpu};
};
INSTANTIATE_TEST_SUITE_P(Ways, WhenDeadline, ::testing::Values(false, true), test::name_of_mode);

TEST_P(WhenDeadline, ADeadlineEndsTheWaitAndNotTheWork) {
  gate held{s};
  const completion c = s.completion();
  EXPECT_FALSE(sync_wait(c.within(0s)));
  EXPECT_FALSE(sync_wait(c.within(1ms)));
  EXPECT_FALSE(sync_wait(c.until(std::chrono::steady_clock::now() + 1ms)));
  EXPECT_FALSE(sync_wait(when_all(c, t.completion()).within(1ms)));
  EXPECT_FALSE(sync_wait(when_any(c, c).within(1ms)));
  EXPECT_FALSE(sync_wait(when_any(std::vector{c}).until(std::chrono::steady_clock::now() + 1ms)));
  held.open();
  EXPECT_TRUE(sync_wait(c.within(1h)));
  EXPECT_TRUE(sync_wait(c.until(std::chrono::steady_clock::now() + 1h)));
  EXPECT_TRUE(sync_wait(when_all(c, c).within(1h)));
  EXPECT_EQ(sync_wait(when_any(c, c).within(1h)), 0U);
  EXPECT_TRUE(sync_wait(c.within(0s)));
}

TEST_P(WhenDeadline, AWaitWithADeadlineRethrowsAHostFunctionException) {
  for (const bool several : {false, true}) {
    gate held{s};
    launch_host(s, [] { throw std::runtime_error{"thrown in a host function"}; });
    std::promise<bool> told;
    [](completion c, bool with_another, std::promise<bool>& answer) -> detached {
      try {
        answer.set_value(with_another ? co_await when_all(c, c).within(1h) : co_await c.within(1h));
      } catch (...) {
        answer.set_exception(std::current_exception());
      }
    }(s.completion(), several, told);
    held.open();
    EXPECT_THROW(static_cast<void>(told.get_future().get()), std::runtime_error);
  }
}

// Either completion may be the one that notifies the wait.
TEST_P(WhenDeadline, AWaitForAllResumesOnTheBlockedThreadWhenTheDeadlinePasses) {
  for (int i = 0; i < 20; ++i) {
    gate ends{s};
    gate held{t};
    const std::thread::id resumed = sync_wait([&]() -> task<std::thread::id> {
      const completion first = s.completion();
      const completion second = t.completion();
      const std::jthread opens{[&] { ends.open(); }};
      EXPECT_FALSE(co_await when_all(first, second).within(1ms));
      co_return std::this_thread::get_id();
    }());
    EXPECT_EQ(resumed, std::this_thread::get_id());
    held.open();
  }
}

TEST_P(WhenDeadline, ManyDeadlinesCanExpireInAnyOrder) {
  gate held{s};
  const completion c = s.completion();
  std::vector<std::future<bool>> late;
  late.reserve(200);
  for (int i = 0; i < 200; ++i) {
    late.push_back([](completion awaited, int microseconds) {
      auto given = std::make_unique<std::promise<bool>>();
      auto result = given->get_future();
      [](completion what, int limit, auto told) -> detached {
        told->set_value(co_await what.within(std::chrono::microseconds{limit}));
      }(awaited, microseconds, std::move(given));
      return result;
    }(c, (i * 37) % 200 * 10));
  }
  for (auto& one : late) EXPECT_FALSE(one.get());
  held.open();
  c.wait();
}

// If the deadline and the end of the work coincide, each wait still ends exactly once.
TEST_P(WhenDeadline, ADeadlineMayRaceWithTheEndOfTheWork) {
  for (int i = 0; i < 200; ++i) {
    gate held{s};
    const completion c = s.completion();
    const std::jthread opens{[&] { held.open(); }};
    static_cast<void>(sync_wait(c.within(std::chrono::microseconds{i})));
    c.wait();
    EXPECT_TRUE(sync_wait(c.within(0s)));
  }
}

// A clock whose time the test sets.
struct set_clock {
  using duration = std::chrono::hours;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<set_clock>;
  static constexpr bool is_steady = false;
  static time_point now() { return set; }
  static inline time_point set{0h};
};

TEST_P(WhenDeadline, ADeadlineDoesNotMoveWhenTheWaitBeginsLate) {
  gate held{s};
  const completion c = s.completion();
  set_clock::set = set_clock::time_point{0h};
  auto one = c.until(set_clock::time_point{10h});
  auto all = when_all(c, c).until(set_clock::time_point{10h});
  set_clock::set = set_clock::time_point{10h};
  EXPECT_FALSE(sync_wait(one));
  EXPECT_FALSE(sync_wait(all));
}

TEST_P(WhenDeadline, DeadlinesAtTheLimitsOfTheClockAreRespected) {
  using std::chrono::seconds;
  using std::chrono::steady_clock;
  constexpr auto latest = std::chrono::time_point<steady_clock, seconds>::max();
  constexpr auto first = std::chrono::time_point<steady_clock, seconds>::min();
  gate held{s};
  const completion c = s.completion();
  EXPECT_FALSE(c.wait_until(first));
  EXPECT_FALSE(sync_wait(c.until(first)));
  const std::jthread opens{[&] { held.open(); }};
  EXPECT_TRUE(c.wait_until(latest));
  EXPECT_TRUE(sync_wait(c.until(latest)));
}

}  // namespace
}  // namespace weir
