// lane_noting_test.cpp - points are noted in the order of the stream, whoever else notes or waits.
#include "reactor/lane.hpp"

#include <weir/completion/completion.hpp>
#include <weir/device/device.hpp>
#include <weir/core/error.hpp>
#include <weir/completion/reactor.hpp>
#include <weir/stream/stream.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "api/completion/completion_access.hpp"
#include "support/fault_table.hpp"
#include "support/asleep.hpp"
#include "support/detached.hpp"
#include "support/gate.hpp"
#include "support/own_table.hpp"

namespace weir::detail {
namespace {

using test::detached;
using test::gate;
using test::own_table;
using test::wait_until_asleep;

constexpr int threads = 4;
constexpr int each = 100;
constexpr int points = 500;

detached await(completion c, std::atomic<int>& told) {
  static_cast<void>(co_await c.outcome());
  ++told;
}

std::atomic<int> recording{0};
std::atomic<int> recorded{0};
std::atomic<bool> overlaps{false};
std::atomic<int> to_fail{0};
std::atomic<bool> may_go_on{true};
std::atomic<pid_t> recorder{0};     // the thread that records
std::atomic<bool> is_asked{false};  // by other threads than the test's own
std::atomic<int> asked{0};          // by one that counts
thread_local int place = 0;         // of what this thread has recorded last
thread_local bool is_of_test = false;
thread_local bool counts = false;

// The driver takes a while to record, so that others come meanwhile.
class LaneNoting : public ::testing::Test {
 protected:
  void SetUp() override {
    is_of_test = true;
    recorded = 0;
    is_asked = false;
  }

  const own_table table{[](driver_table& t) {
    t.cuEventRecord = [](abi::CUevent event, abi::CUstream stream) {
      if (++recording != 1) overlaps = true;
      recorder = ::gettid();
      place = ++recorded;
      do std::this_thread::yield();
      while (!may_go_on);
      const bool fails = to_fail > 0 && to_fail-- > 0;
      const abi::CUresult answer =
          fails ? abi::CUDA_ERROR_OUT_OF_MEMORY : own_table::below().cuEventRecord(event, stream);
      --recording;
      return answer;
    };
    t.cuEventQuery = [](abi::CUevent event) {
      if (counts) ++asked;
      if (!is_of_test) is_asked = true;
      return own_table::below().cuEventQuery(event);
    };
  }};
  const stream s{device{}};
};

using ticket_and_place = std::pair<unsigned long long, int>;

TEST_F(LaneNoting, IsInTheOrderOfTheStream) {
  std::vector<ticket_and_place> seen[threads];
  {
    std::vector<std::jthread> all;
    all.reserve(threads);
    for (auto& mine : seen) {
      all.emplace_back([&] {
        for (int i = 0; i < each; ++i) {
          const completion c = s.completion();
          mine.emplace_back(completion_access::ticket(c), place);
        }
      });
    }
  }
  EXPECT_FALSE(overlaps);
  std::vector<ticket_and_place> together;
  for (const auto& one : seen) together.insert(together.end(), one.begin(), one.end());
  std::sort(together.begin(), together.end());
  for (int i = 0; i < threads * each; ++i) EXPECT_EQ(together[static_cast<std::size_t>(i)].second, i + 1);
}

// Those who come after it have their turn.
TEST_F(LaneNoting, GoesOnAfterOneThatFails) {
  std::atomic<int> failed{0};
  {
    std::vector<std::jthread> all;
    all.reserve(threads);
    for (int k = 0; k < threads; ++k) {
      all.emplace_back([&] {
        for (int i = 0; i < each; ++i) {
          if (i % 10 == 0) ++to_fail;
          try {
            s.completion().wait();
          } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::out_of_memory);
            ++failed;
          }
        }
      });
    }
  }
  EXPECT_EQ(failed + to_fail, threads * each / 10);
  EXPECT_FALSE(overlaps);
  to_fail = 0;
  s.completion().wait();
}

// Who comes to his turn when the lane has ended passes it on.
TEST_F(LaneNoting, EndsForAllWhereTheLaneDoes) {
  for (int round = 0; round < 20; ++round) {
    const stream t{device{}};
    lane& in = *completion_access::where(t.completion());
    const std::uint64_t life = in.life();
    may_go_on = false;
    const int before = recorded;
    std::atomic<pid_t> come[threads] = {};
    std::atomic<int> refused{0};
    std::vector<std::jthread> all;
    all.reserve(threads);
    for (std::atomic<pid_t>& mine : come) {
      all.emplace_back([&] {
        std::uint64_t ticket = 0;
        mine = ::gettid();
        if (in.note(t.get(), life, ticket).code == lane::moved_on) ++refused;
      });
    }
    while (recorded == before) std::this_thread::yield();
    for (const auto& one : come) {
      while (one == 0) std::this_thread::yield();
      if (one != recorder) wait_until_asleep(one);
    }
    in.detach();
    may_go_on = true;
    all.clear();
    EXPECT_EQ(refused, threads - 1);
  }
}

// Asks of this thread, as so many points are noted.
int questions_beside(const stream& s) {
  counts = true;
  asked = 0;
  for (int i = 0; i < points; ++i) static_cast<void>(s.completion());
  counts = false;
  return asked;
}

// For that the reactor's thread asks already, all the time but for moments.
TEST_F(LaneNoting, HardlyAsksWhereSomebodyWaits) {
  gate held{s};
  std::atomic<int> told{0};
  await(s.completion(), told);
  while (!is_asked) std::this_thread::yield();
  EXPECT_LE(questions_beside(s), 10);
  held.open();
  while (told == 0) std::this_thread::yield();
}

// Asks of this thread, as so many points are noted, of which it always waits for the newest, and gives up the one before.
int questions_of_one_who_moves_on(const stream& s) {
  completion_waiter waiting[2];
  for (completion_waiter& who : waiting) who.told = [](completion_waiter&, errc) noexcept {};
  completion c = s.completion();
  lane& in = *completion_access::where(c);
  EXPECT_TRUE(add_waiter(in, completion_access::ticket(c), waiting[0]));
  counts = true;
  asked = 0;
  for (int i = 1; i < points; ++i) {
    c = s.completion();
    EXPECT_TRUE(add_waiter(in, completion_access::ticket(c), waiting[i % 2]));
    EXPECT_TRUE(take_back(in, waiting[(i + 1) % 2]));
  }
  counts = false;
  EXPECT_TRUE(take_back(in, waiting[(points - 1) % 2]));
  return asked;
}

// Nobody else asks for the older points, which may be done. Only where the reactor's thread is in the middle of a question
// does this one have to pass; of a stream that is new it is in none.
TEST_F(LaneNoting, AsksForManyThatAreOlderThanWhatSomebodyWaitsFor) {
  constexpr int rounds = 100;
  int questions = 0;
  for (int i = 0; i < rounds && questions == 0; ++i) {
    const stream held_one{device{}};
    gate held{held_one};
    questions = questions_of_one_who_moves_on(held_one);
  }
  EXPECT_GE(questions, 1);
}

TEST(LaneNotingBesideADrive, KeepsFewPointsUntilItPolls) {
  constexpr int burst = 2'000;
  constexpr int few = 200;
  const failing_table calls;
  const auto live_events = [&] {
    return calls.count(&driver_table::cuEventCreate) - calls.count(&driver_table::cuEventDestroy_v2);
  };
  const device gpu;
  reactor_drive drive{gpu};
  const stream s{gpu};
  std::atomic<int> told{0};
  gate held{s};
  await(s.completion(), told);
  held.open();
  s.sync();
  const int before = live_events();
  for (int i = 0; i < burst; ++i) static_cast<void>(s.completion());
  s.sync();
  for (int i = 0; i < burst; ++i) static_cast<void>(s.completion());
  EXPECT_LE(live_events() - before, burst + few);
  while (told == 0) drive.poll();
}

}  // namespace
}  // namespace weir::detail
