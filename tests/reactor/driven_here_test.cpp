// driven_here_test.cpp - which reactors a thread stands in for, and for how long.
#include "reactor/driven_here.hpp"

#include <weir/device/device.hpp>

#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "reactor/drive_count.hpp"
#include "reactor/reactor.hpp"

namespace weir::detail {
namespace {

// Of devices that there need not be: nobody waits for anything of theirs.
reactor& spare(int number) { return reactor::of(60 + number); }

std::vector<reactor*> those_driven_here() {
  std::vector<reactor*> all;
  driven_by_this_thread().for_each(
      [](reactor& one, void* to) { static_cast<std::vector<reactor*>*>(to)->push_back(&one); }, &all);
  return all;
}

TEST(DriveCount, HasPeriods) {
  drive_count count;
  EXPECT_FALSE(count.lasts(count.period()));
  count.begin();
  const std::uint32_t first = count.period();
  count.begin();
  EXPECT_EQ(count.period(), first);
  count.end();
  EXPECT_TRUE(count.lasts(first));
  count.end();
  EXPECT_FALSE(count.lasts(first));
  count.begin();
  EXPECT_FALSE(count.lasts(first));
  EXPECT_TRUE(count.lasts(count.period()));
}

TEST(DrivenHere, ByWhoBeginsAndByWhoPolls) {
  reactor& one = spare(0);
  EXPECT_FALSE(reactor::is_left_to_this_thread());
  one.begin_driving();
  EXPECT_TRUE(reactor::is_left_to_this_thread());
  std::jthread{[&] {
    EXPECT_FALSE(reactor::is_left_to_this_thread());
    one.poll();
    EXPECT_TRUE(reactor::is_left_to_this_thread());
    one.end_driving();
    EXPECT_FALSE(reactor::is_left_to_this_thread());
  }}.join();
  EXPECT_FALSE(reactor::is_left_to_this_thread());
  EXPECT_TRUE(those_driven_here().empty());
}

TEST(DrivenHere, WhoHasDrivenBeforeDoesNotDriveAgain) {
  reactor& one = spare(0);
  one.begin_driving();
  one.end_driving();
  std::jthread{[&] { one.begin_driving(); }}.join();
  EXPECT_FALSE(reactor::is_left_to_this_thread());
  one.poll();
  EXPECT_TRUE(reactor::is_left_to_this_thread());
  one.end_driving();
}

TEST(DrivenHere, SeveralAndEachUntilItEnds) {
  std::vector<reactor*> all{&spare(0), &spare(1), &spare(2)};
  for (reactor* const each : all) each->begin_driving();
  for (reactor* const each : all) each->poll();
  EXPECT_EQ(those_driven_here(), all);
  all[1]->end_driving();
  EXPECT_EQ(those_driven_here(), (std::vector{all[0], all[2]}));
  all[0]->end_driving();
  all[2]->end_driving();
  EXPECT_TRUE(those_driven_here().empty());
}

}  // namespace
}  // namespace weir::detail
