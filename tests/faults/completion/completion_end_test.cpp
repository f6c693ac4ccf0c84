// SPDX-License-Identifier: Apache-2.0
// completion_end_test.cpp - completions after a permanent failure of a device or of the driver.
#include <weir/completion/completion.hpp>
#include <weir/completion/future.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/when.hpp>
#include <weir/event/event.hpp>
#include <weir/stream/stream.hpp>

#include <chrono>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "faults/completion/completion_fixture.hpp"
#include "support/closure_probe.hpp"
#include "support/gate.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using test::await;
using test::await_with_timeout;
using test::closure_probe;
using test::closure_stats;
using test::driver_function;
using test::driver_table;
using test::fault_table;
using test::gate;
using test::recorded_outcome;
using namespace std::chrono_literals;

class CompletionEndFaults : public test::CompletionFaults {};

// All waiters of all streams are notified before any event is destroyed, since the driver may take
// long for that.
TEST_F(CompletionEndFaults, AllWaitersAreNotifiedBeforeEventsAreDestroyed) {
  constexpr int streams = 5;
  constexpr int awaits = 50;
  fault_table faults;
  completed_so_far = 0;
  std::vector<stream> all;
  std::vector<std::unique_ptr<gate>> held;
  for (int i = 0; i < streams; ++i) {
    held.push_back(std::make_unique<gate>(all.emplace_back(gpu)));
    for (int k = 0; k < awaits; ++k) all.back().completion().then([](errc) { ++completed_so_far; });
  }
  const int before = live_events;
  completed_when_destroyed = streams * awaits;
  faults.fail_from(&driver_table::cuEventQuery, 1, abi::CUDA_ERROR_ILLEGAL_ADDRESS);
  while (live_events - before > -streams * awaits) std::this_thread::yield();
  EXPECT_EQ(completed_when_destroyed, streams * awaits);
  faults.fail(&driver_table::cuEventQuery, 1'000'000, test::refused);
}

// Rule 161: after the shutdown the state of the work is unknown and its memory has no owner.
TEST_F(CompletionEndFaults, EveryWaiterIsNotifiedOnceWhenTheDriverShutsDown) {
  const test::unhandled_errors reported;
  std::deque<recorded_outcome> all;
  closure_stats f;
  {
    const stream s{gpu};
    fault_table faults;
    gate held{s};
    const completion c = s.completion();
    const event e = s.record();
    std::vector<std::jthread> threads;
    threads.emplace_back(
        [&, &to = all.emplace_back()] { to.record(test::result_of([&] { c.wait(); })); });
    threads.emplace_back([&, &to = all.emplace_back()] {
      to.record(test::result_of([&] { (void)c.wait_for(1h); }));
    });
    threads.emplace_back([&, &to = all.emplace_back()] {
      to.record(test::result_of([&] { sync_wait(when_all(c, c)); }));
    });
    await(c, all.emplace_back());
    await(e.completion(), all.emplace_back());
    await_with_timeout(c, all.emplace_back());
    c.then([&to = all.emplace_back()](errc outcome) { to.record(outcome); });
    static_cast<void>(s.enqueue([&] { return closure_probe{f}; }));  // dropped at once
    for (const driver_function& function : test::driver_functions) {
      function.fail_from(faults, abi::CUDA_ERROR_DEINITIALIZED);
    }
    for (const recorded_outcome& each : all) {
      while (each.deliveries == 0) std::this_thread::yield();
      EXPECT_EQ(each.outcome, errc::deinitialized);
    }
    while (f.destructions == 0) std::this_thread::yield();
    EXPECT_EQ(test::result_of([&] { static_cast<void>(s.completion()); }), errc::deinitialized);
  }
  for (const recorded_outcome& each : all) EXPECT_EQ(each.deliveries, 1);
  EXPECT_EQ(reported.count(), 0U);
}

}  // namespace
}  // namespace weir
