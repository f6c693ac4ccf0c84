// SPDX-License-Identifier: Apache-2.0
// driver_activity_test.cpp - an observer sees the driver calls of all threads except its own.
#include "driver/driver_activity.hpp"

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

TEST(DriverActivity, ARoundDetectsDriverCallsOfAnotherThread) {
  const stream s{device{}};
  pinned_buffer<unsigned> word{1};
  const std::uint64_t query_epoch = begin_activity_epoch();
  on_another_thread([&] { static_cast<void>(s.done()); });
  EXPECT_TRUE(called_since(query_epoch));
  const std::uint64_t fill_epoch = begin_activity_epoch();
  on_another_thread([&] { fill(s, word, 0u); });
  EXPECT_TRUE(called_since(fill_epoch));
}

TEST(DriverActivity, EachRoundDetectsADriverCall) {
  std::uint64_t round = begin_activity_epoch();
  for (int i = 0; i < 1'000; ++i) {
    on_another_thread([&] {
      record_driver_call();
      EXPECT_TRUE(called_since(round));
      round = begin_activity_epoch();
    });
    record_driver_call();
    EXPECT_TRUE(called_since(round));
  }
}

// Repeats the attempt, because weir's own threads may call the driver or begin epochs in between.
template <class Attempt>
bool happens_once(const Attempt& attempt) {
  for (int i = 0; i < 1'000; ++i) {
    if (attempt()) return true;
  }
  return false;
}

TEST(DriverActivity, ARoundIgnoresDriverCallsOfTheThreadThatBeganIt) {
  const stream s{device{}};
  EXPECT_TRUE(happens_once([&] {
    const std::uint64_t round = begin_activity_epoch();
    static_cast<void>(s.done());
    return !called_since(round);
  }));
}

// Two observers at a time.
TEST(DriverActivity, ARoundDoesNotHideDriverCallsFromAnotherRound) {
  const std::uint64_t first = begin_activity_epoch();
  std::uint64_t second = 0;
  on_another_thread([&] { second = begin_activity_epoch(); });
  on_another_thread(record_driver_call);
  EXPECT_TRUE(called_since(first));
  EXPECT_TRUE(called_since(second));
}

}  // namespace
}  // namespace weir::detail
