// lane_events_test.cpp - lanes keep no more events than they need.
#include "reactor/lane.hpp"

#include <weir/completion/completion.hpp>
#include <weir/device/device.hpp>
#include <weir/event/event.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "support/fault_table.hpp"
#include "reactor/event_store.hpp"
#include "support/detached.hpp"
#include "support/gate.hpp"
#include "support/own_table.hpp"

namespace weir::detail {
namespace {

using test::detached;
using test::gate;
using test::own_table;

detached await(completion c, std::atomic<int>& told) {
  static_cast<void>(co_await c.outcome());
  ++told;
}

void wait_for(const std::atomic<int>& count, int wanted) {
  while (count != wanted) std::this_thread::yield();
}

class LaneEvents : public ::testing::Test {
 protected:
  failing_table calls;
  device gpu;
  stream s{gpu};
};

// Streams with a few points each take and give all the time, and make hardly any.
TEST_F(LaneEvents, AreUsedAgain) {
  for (int i = 0; i < 50; ++i) {
    const stream t{gpu};
    for (int k = 0; k < 10; ++k) t.completion().wait();
  }
  EXPECT_LE(calls.count(&driver_table::cuEventCreate), 20);
}

TEST_F(LaneEvents, OfALaneThatHasFailedEnd) {
  constexpr int many = 100;
  gate held{s};
  std::atomic<int> told{0};
  calls.fail_from(&driver_table::cuEventQuery, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
  for (int i = 0; i < many; ++i) await(s.completion(), told);
  wait_for(told, many);
  while (calls.count(&driver_table::cuEventDestroy_v2) < many) std::this_thread::yield();
}

// An event of the program's that was destroyed while somebody waited for it.
TEST(LeftEvent, EndsWithItsLane) {
  static std::atomic<abi::CUevent> left{nullptr};
  static std::atomic<bool> ended{false};
  ended = false;
  const own_table table{[](driver_table& t) {
    t.cuEventDestroy_v2 = [](abi::CUevent event) {
      const abi::CUresult answer = own_table::below().cuEventDestroy_v2(event);
      if (event == left) ended = true;
      return answer;
    };
  }};
  std::atomic<int> told{0};
  const stream s{device{}};
  gate held{s};
  std::optional<event> e{s.record()};
  left = e->get();
  await(e->completion(), told);
  e.reset();
  EXPECT_FALSE(ended);
  held.open();
  wait_for(told, 1);
  while (!ended) std::this_thread::yield();
}

// Events that live, seen through a table that also can say that nothing is done: a GPU's stream that is held has no room
// for so many records.
class LaneBurst : public ::testing::Test {
 protected:
  static inline std::atomic<int> live{0};
  static inline std::atomic<bool> held{false};
  static inline const completion* asked_while_recording = nullptr;

  const own_table table{[](driver_table& t) {
    t.cuEventCreate = [](abi::CUevent* event, unsigned flags) {
      ++live;
      return own_table::below().cuEventCreate(event, flags);
    };
    t.cuEventDestroy_v2 = [](abi::CUevent event) {
      --live;
      return own_table::below().cuEventDestroy_v2(event);
    };
    t.cuEventQuery = [](abi::CUevent event) {
      return held ? abi::CUDA_ERROR_NOT_READY : own_table::below().cuEventQuery(event);
    };
    t.cuEventRecord = [](abi::CUevent event, abi::CUstream stream) {
      const abi::CUresult answer = own_table::below().cuEventRecord(event, stream);
      if (asked_while_recording != nullptr) {
        EXPECT_TRUE(asked_while_recording->done());
      }
      return answer;
    };
  }};
  const int before = live;
  const stream s{device{}};
};

TEST_F(LaneBurst, LeavesFewEvents) {
  constexpr int burst = 100'000;
  constexpr auto few = static_cast<int>(most_events_kept + mark_ring::most_kept);
  for (const bool awaited : {false, true}) {
    std::atomic<int> told{0};
    held = true;
    completion last;
    for (int i = 0; i < burst; ++i) {
      last = s.completion();
      if (awaited) await(last, told);
    }
    EXPECT_GE(live - before, burst - few);
    held = false;
    last.wait();
    if (awaited) wait_for(told, burst);
    while (live - before > few) std::this_thread::yield();  // after all were told
  }
}

// The ring gives back what it has taken while a point is being noted that was promised room there.
TEST_F(LaneBurst, MayEndWhileAPointIsNoted) {
  held = true;
  completion last;
  for (std::uint64_t i = 0; i < mark_ring::most_kept + 1; ++i) last = s.completion();
  s.sync();
  held = false;
  asked_while_recording = &last;
  const completion behind = s.completion();
  asked_while_recording = nullptr;
  behind.wait();
}

}  // namespace
}  // namespace weir::detail
