// SPDX-License-Identifier: Apache-2.0
// completion_end_test.cpp - awaits that end because of a fault or because their context ends.
#include <weir/completion/completion.hpp>
#include <weir/device/context.hpp>
#include <weir/device/device.hpp>
#include <weir/event/event.hpp>
#include <weir/kernel/launch.hpp>
#include <weir/kernel/module.hpp>
#include <weir/kernel/program.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/detached.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/fresh_process.hpp"
#include "support/gate.hpp"
#include "support/recorded_outcome.hpp"
#include "support/wait_until_asleep.hpp"

namespace weir {
namespace {

using detail::fault_table;
using test::detached;
using test::gate;
using test::recorded_outcome;
using test::result_of;
using namespace std::chrono_literals;

const char* const faulty = R"(
extern "C" __global__ void store(int* x, int value) { *x = value; }
)";

struct count_of {
  std::atomic<int> deliveries{0};
};

detached await(completion c, count_of& answers, errc& last) {
  last = co_await c.outcome();
  ++answers.deliveries;
}

void wait_for(const std::atomic<int>& count, int wanted) {
  while (count != wanted) std::this_thread::yield();
}

detached await_with_long_timeout(completion c, recorded_outcome& to) {
  errc how = errc::success;
  try {
    co_await c.within(1h);
  } catch (const error& e) {
    how = e.result();
  }
  to.record(how);
}

// Runs a kernel that writes to an invalid address while a thousand awaits of all kinds are pending,
// in its stream and in others.
bool all_awaits_fail(bool asked) {
  const device gpu;
  std::optional<fault_table> calls;
  const kernel store = program{faulty}.compile(gpu).kernel("store");
  if (asked) calls.emplace();
  constexpr int streams = 4;  // on a GPU, more streams that wait for the host may block each other
  constexpr int awaits = 250;
  std::vector<stream> all;
  std::vector<event> marks;
  std::vector<std::unique_ptr<gate>> held;
  std::deque<recorded_outcome> answers;
  std::vector<completion> points;
  std::vector<std::jthread> waiting;
  for (int i = 0; i < streams; ++i) {
    all.emplace_back(gpu);
    held.push_back(std::make_unique<gate>(all.back()));
  }
  const stream& bad = all.front();
  launch(bad, grid(1, 1), store, static_cast<int*>(nullptr), 1);
  for (int i = 0; i < streams; ++i) {
    for (int k = 0; k < awaits; ++k) {
      if (k % 10 == 0) marks.push_back(all[i].record());
      const completion c = k % 10 == 0 ? marks.back().completion() : all[i].completion();
      points.push_back(c);
      recorded_outcome& to = answers.emplace_back();
      switch (k % 4) {
        case 0: test::await(c, to); break;
        case 1: await_with_long_timeout(c, to); break;
        case 2: c.then([&to](errc outcome) { to.record(outcome); }); break;
        default:
          c.then([](continuation what) { what(); }, [&to](errc outcome) { to.record(outcome); });
      }
    }
    recorded_outcome& to = answers.emplace_back();
    waiting.emplace_back([c = points.back(), &to] { to.record(result_of([&] { c.wait(); })); });
  }
  held.front()->open();
  for (const recorded_outcome& each : answers) wait_for(each.deliveries, 1);
  waiting.clear();
  for (const recorded_outcome& each : answers) {
    if (!WEIR_HOLDS(each.outcome == errc::illegal_address) || !WEIR_HOLDS(each.deliveries == 1))
      return false;
  }
  for (const completion& c : points) {
    if (!WEIR_HOLDS(c.status() == errc::illegal_address)) return false;
  }
  // Later completions are refused, or fail with the fault's code.
  if (!WEIR_HOLDS(result_of([&] { all.back().completion().wait(); }) == errc::illegal_address))
    return false;
  held.clear();
  calls.reset();
  return true;
}

TEST(CompletionEnd, AFaultFailsAllPendingAwaits) {
  test::in_a_fresh_process([] { return all_awaits_fail(false); });
}

TEST(CompletionEnd, AFaultFailsAllAwaitsOfPolledCompletions) {
  test::in_a_fresh_process([] { return all_awaits_fail(true); });
}

// A wait without a timeout ends when the fault is detected. It does not wait for the function that
// is running in its stream.
TEST(CompletionEnd, AFaultEndsAWaitWhileAHostFunctionRuns) {
  for (const bool asked : {false, true}) {
    test::in_a_fresh_process([asked] {
      const device gpu;
      std::optional<fault_table> calls;
      const kernel store = program{faulty}.compile(gpu).kernel("store");
      if (asked) calls.emplace();
      const stream bad{gpu};
      const stream busy{gpu};
      std::atomic<bool> runs{false};
      std::atomic<bool> ends{false};
      launch_host(busy, [&] {
        runs = true;
        while (!ends) std::this_thread::yield();
      });
      errc outcome = errc::not_ready;
      std::atomic<pid_t> number{0};
      {
        const std::jthread waits{[&, c = busy.completion()] {
          number = gettid();
          outcome = result_of([&] { c.wait(); });
        }};
        while (number == 0 || !runs) std::this_thread::yield();
        test::wait_until_asleep(number);
        launch(bad, grid(1, 1), store, static_cast<int*>(nullptr), 1);
      }
      ends = true;
      const bool good = WEIR_HOLDS(outcome == errc::illegal_address);
      std::_Exit(good ? 0 : 1);  // a GPU's driver may never return from a call in a failed context
      return good;
    });
  }
}

// Completed waits keep their status, and pending ones complete with success or an error. A GPU's
// driver must not be called while another thread resets the context, so on a GPU this test awaits
// nothing.
TEST(CompletionEnd, AContextResetSettlesPendingCompletions) {
  for (const bool asked : {false, true}) {
    test::in_a_fresh_process([asked] {
      const device gpu;
      std::optional<fault_table> calls;
      if (asked) calls.emplace();
      const bool awaited = gpu.is_embedded();
      count_of answers;
      errc outcome = errc::success;
      auto* const s = new stream{gpu};
      const completion before = s->completion();
      before.wait();
      gate held{*s};
      const completion pending = s->completion();
      if (awaited) await(pending, answers, outcome);
      held.open();
      detail::driver().cuDevicePrimaryCtxReset_v2(gpu.ordinal());
      if (awaited) wait_for(answers.deliveries, 1);
      const errc end = pending.status();
      const bool good = WEIR_HOLDS(before.status() == errc::success) &&
                        WEIR_HOLDS(end != errc::not_ready) &&
                        WEIR_HOLDS(!awaited || end == outcome);
      std::_Exit(good ? 0 : 1);  // the remaining objects belong to the destroyed context
      return good;
    });
  }
}

}  // namespace
}  // namespace weir
