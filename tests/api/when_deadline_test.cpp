// when_deadline_test.cpp - awaits with a deadline, by whatever clock.
#include <weir/completion.hpp>
#include <weir/sync_wait.hpp>
#include <weir/when.hpp>

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "support/completion_ways.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::gate;
using namespace std::chrono_literals;

class WhenDeadline : public test::completion_ways {};
INSTANTIATE_TEST_SUITE_P(Ways, WhenDeadline, ::testing::Values(false, true), test::name_of_way);

// A clock that a test sets.
struct set_clock {
  using duration = std::chrono::hours;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<set_clock>;
  static constexpr bool is_steady = false;
  static time_point now() { return set; }
  static inline time_point set{0h};
};

TEST_P(WhenDeadline, ADeadlineStaysWhereItIsHoweverLateTheWaitBegins) {
  gate held{s};
  const completion c = s.completion();
  set_clock::set = set_clock::time_point{0h};
  auto one = c.by(set_clock::time_point{10h});
  auto all = when_all(c, c).by(set_clock::time_point{10h});
  set_clock::set = set_clock::time_point{10h};
  EXPECT_FALSE(sync_wait(one));
  EXPECT_FALSE(sync_wait(all));
}

TEST_P(WhenDeadline, DeadlinesBeyondWhatTheirClockCanTell) {
  using std::chrono::seconds;
  using std::chrono::steady_clock;
  constexpr auto latest = std::chrono::time_point<steady_clock, seconds>::max();
  constexpr auto first = std::chrono::time_point<steady_clock, seconds>::min();
  gate held{s};
  const completion c = s.completion();
  EXPECT_FALSE(c.wait_until(first));
  EXPECT_FALSE(sync_wait(c.by(first)));
  const std::jthread opens{[&] { held.open(); }};
  EXPECT_TRUE(c.wait_until(latest));
  EXPECT_TRUE(sync_wait(c.by(latest)));
}

}  // namespace
}  // namespace weir
