// lane_noting_test.cpp - points are noted in the order of the stream, whoever else notes or waits.
#include "reactor/lane.hpp"

#include <weir/completion.hpp>
#include <weir/device.hpp>
#include <weir/error.hpp>
#include <weir/stream.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "api/completion_access.hpp"
#include "support/detached.hpp"
#include "support/gate.hpp"
#include "support/own_table.hpp"

namespace weir::detail {
namespace {

using test::detached;
using test::gate;
using test::own_table;

constexpr int threads = 4;
constexpr int each = 500;

// The driver takes a while to record, so that others come meanwhile.
class LaneNoting : public ::testing::Test {
 protected:
  static inline std::atomic<int> recording{0};
  static inline std::atomic<int> recorded{0};
  static inline std::atomic<bool> overlaps{false};
  static inline std::atomic<int> to_fail{0};
  static inline std::atomic<int> asked{0};
  static inline thread_local int place = 0;  // of what this thread has recorded last
  static inline thread_local bool counts = false;

  void SetUp() override { recorded = 0; }

  const own_table table{[](driver_table& t) {
    t.cuEventRecord = [](abi::CUevent event, abi::CUstream stream) {
      if (++recording != 1) overlaps = true;
      place = ++recorded;
      std::this_thread::yield();
      const bool fails = to_fail > 0 && to_fail-- > 0;
      const abi::CUresult answer =
          fails ? abi::CUDA_ERROR_OUT_OF_MEMORY : own_table::below().cuEventRecord(event, stream);
      --recording;
      return answer;
    };
    t.cuEventQuery = [](abi::CUevent event) {
      if (counts) ++asked;
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

detached await(completion c, std::atomic<int>& told) {
  static_cast<void>(co_await c.outcome());
  ++told;
}

// For that somebody asks already.
TEST_F(LaneNoting, AsksNothingWhereSomebodyWaits) {
  gate held{s};
  std::atomic<int> told{0};
  await(s.completion(), told);
  counts = true;
  asked = 0;
  for (int i = 0; i < each; ++i) static_cast<void>(s.completion());
  counts = false;
  EXPECT_EQ(asked, 0);
  held.open();
  while (told == 0) std::this_thread::yield();
}

}  // namespace
}  // namespace weir::detail
