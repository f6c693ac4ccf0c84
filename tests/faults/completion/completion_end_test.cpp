// completion_end_test.cpp - what has failed for good: a device, or the driver.
#include <weir/completion/completion.hpp>
#include <weir/event/event.hpp>
#include <weir/completion/future.hpp>
#include <weir/stream/stream.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/when.hpp>

#include <chrono>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "faults/completion/completion_fixture.hpp"
#include "support/gate.hpp"
#include "support/unraised.hpp"
#include "support/witness.hpp"

namespace weir {
namespace {

using test::answer;
using test::await;
using test::await_with_an_end;
using test::driver_function;
using test::driver_table;
using test::failing_table;
using test::fate;
using test::gate;
using test::witness;
using namespace std::chrono_literals;

class CompletionEndFaults : public test::CompletionFaults {};

// What has failed is given back when everybody knows, in whatever stream: the driver takes its time for that.
TEST_F(CompletionEndFaults, AllAreToldBeforeEventsAreDestroyed) {
  constexpr int streams = 5;
  constexpr int awaits = 50;
  failing_table faults;
  told_so_far = 0;
  std::vector<stream> all;
  std::vector<std::unique_ptr<gate>> held;
  for (int i = 0; i < streams; ++i) {
    held.push_back(std::make_unique<gate>(all.emplace_back(gpu)));
    for (int k = 0; k < awaits; ++k) all.back().completion().then([](errc) { ++told_so_far; });
  }
  const int before = live_events;
  told_when_destroyed = streams * awaits;
  faults.fail_from(&driver_table::cuEventQuery, 1, abi::CUDA_ERROR_ILLEGAL_ADDRESS);
  while (live_events - before > -streams * awaits) std::this_thread::yield();
  EXPECT_EQ(told_when_destroyed, streams * awaits);
  faults.fail(&driver_table::cuEventQuery, 1'000'000, test::refused);
}

// Rule 161. What becomes of work is not known any more then, and its memory is nobody's.
TEST_F(CompletionEndFaults, TheDriverShutsDown) {
  const test::unraised_errors reported;
  std::deque<answer> all;
  fate f;
  {
    const stream s{gpu};
    failing_table faults;
    gate held{s};
    const completion c = s.completion();
    const event e = s.record();
    std::vector<std::jthread> threads;
    threads.emplace_back([&, &to = all.emplace_back()] { to.tell(test::result_of([&] { c.wait(); })); });
    threads.emplace_back([&, &to = all.emplace_back()] { to.tell(test::result_of([&] { (void)c.wait_for(1h); })); });
    threads.emplace_back(
        [&, &to = all.emplace_back()] { to.tell(test::result_of([&] { sync_wait(when_all(c, c)); })); });
    await(c, all.emplace_back());
    await(e.completion(), all.emplace_back());
    await_with_an_end(c, all.emplace_back());
    c.then([&to = all.emplace_back()](errc outcome) { to.tell(outcome); });
    static_cast<void>(s.enqueue_async([&] { return witness{f}; }));  // dropped
    for (const driver_function& function : test::driver_functions) {
      function.fail_from(faults, abi::CUDA_ERROR_DEINITIALIZED);
    }
    for (const answer& each : all) {
      while (each.told == 0) std::this_thread::yield();
      EXPECT_EQ(each.outcome, errc::deinitialized);
    }
    while (f.destructions == 0) std::this_thread::yield();
    EXPECT_EQ(test::result_of([&] { static_cast<void>(s.completion()); }), errc::deinitialized);
  }
  for (const answer& each : all) EXPECT_EQ(each.told, 1);
  EXPECT_EQ(reported.count(), 0U);
}

}  // namespace
}  // namespace weir
