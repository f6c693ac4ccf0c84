// call_rounds_test.cpp - calls of the driver are seen by who wants to know of them, but for his own.
#include "driver/call_rounds.hpp"

#include <weir/device/device.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

namespace weir::detail {
namespace {

template <class Call>
void on_another_thread(const Call& call) {
  std::thread{call}.join();
}

TEST(CallRounds, SeeWhatAnotherThreadCalls) {
  const stream s{device{}};
  pinned_buffer<unsigned> word{1};
  const std::uint64_t asked = begin_round_of_calls();
  on_another_thread([&] { static_cast<void>(s.done()); });
  EXPECT_TRUE(called_since(asked));
  const std::uint64_t queued = begin_round_of_calls();
  on_another_thread([&] { fill(s, word, 0u); });
  EXPECT_TRUE(called_since(queued));
}

TEST(CallRounds, SeeACallInEachRound) {
  std::uint64_t round = begin_round_of_calls();
  for (int i = 0; i < 1'000; ++i) {
    on_another_thread([&] {
      note_call();
      EXPECT_TRUE(called_since(round));
      round = begin_round_of_calls();
    });
    note_call();
    EXPECT_TRUE(called_since(round));
  }
}

// Threads of weir's own may call just then, and begin rounds, but not all the time.
template <class Attempt>
bool happens(const Attempt& attempt) {
  for (int i = 0; i < 1'000; ++i) {
    if (attempt()) return true;
  }
  return false;
}

TEST(CallRounds, DoNotSeeWhoBeganThem) {
  const stream s{device{}};
  EXPECT_TRUE(happens([&] {
    const std::uint64_t round = begin_round_of_calls();
    static_cast<void>(s.done());
    return !called_since(round);
  }));
}

// Two who want to know at a time.
TEST(CallRounds, OfSomebodyElseHideNothing) {
  const std::uint64_t first = begin_round_of_calls();
  std::uint64_t second = 0;
  on_another_thread([&] { second = begin_round_of_calls(); });
  on_another_thread(note_call);
  EXPECT_TRUE(called_since(first));
  EXPECT_TRUE(called_since(second));
}

}  // namespace
}  // namespace weir::detail
