// completion_end_test.cpp - awaits that end otherwise: a fault, a context that is reset, a fork, the end of the process.
#include <weir/completion.hpp>
#include <weir/context.hpp>
#include <weir/device.hpp>
#include <weir/event.hpp>
#include <weir/host_function.hpp>
#include <weir/launch.hpp>
#include <weir/module.hpp>
#include <weir/program.hpp>
#include <weir/stream.hpp>
#include <weir/sync_wait.hpp>
#include <weir/task.hpp>

#include <sys/wait.h>
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

#include "driver/failing.hpp"
#include "support/asleep.hpp"
#include "support/child.hpp"
#include "support/detached.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::failing_table;
using test::detached;
using test::gate;
using test::result_of;
using namespace std::chrono_literals;

const char* const faulty = R"(
extern "C" __global__ void store(int* x, int value) { *x = value; }
)";

struct count_of {
  std::atomic<int> told{0};
};

detached await(completion c, count_of& answers, errc& last) {
  last = co_await c.outcome();
  ++answers.told;
}

void wait_for(const std::atomic<int>& count, int wanted) {
  while (count != wanted) std::this_thread::yield();
}

// How a wait has ended.
struct answer {
  std::atomic<int> told{0};
  errc outcome = errc::not_ready;

  void tell(errc how) {
    outcome = how;
    ++told;
  }
};

detached await_it(completion c, answer& to) { to.tell(co_await c.outcome()); }
detached await_for_long(completion c, answer& to) {
  errc how = errc::success;
  try {
    co_await c.within(1h);
  } catch (const error& e) {
    how = e.result();
  }
  to.tell(how);
}

// A kernel with a bad address, while a thousand wait in all ways, in its own stream and in others.
bool all_awaits_fail(bool asked) {
  const device gpu;
  std::optional<failing_table> calls;
  const kernel store = program{faulty}.compile(gpu).kernel("store");
  if (asked) calls.emplace();
  constexpr int streams = 4;  // more that wait for the host may stand in each other's way on a GPU
  constexpr int awaits = 250;
  std::vector<stream> all;
  std::vector<event> marks;
  std::vector<std::unique_ptr<gate>> held;
  std::deque<answer> answers;
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
      answer& to = answers.emplace_back();
      switch (k % 4) {
        case 0: await_it(c, to); break;
        case 1: await_for_long(c, to); break;
        case 2: c.then([&to](errc outcome) { to.tell(outcome); }); break;
        default: c.then([](continuation what) { what(); }, [&to](errc outcome) { to.tell(outcome); });
      }
    }
    answer& to = answers.emplace_back();
    waiting.emplace_back([c = points.back(), &to] { to.tell(result_of([&] { c.wait(); })); });
  }
  held.front()->open();
  for (const answer& each : answers) wait_for(each.told, 1);
  waiting.clear();
  for (const answer& each : answers) {
    if (!WEIR_HOLDS(each.outcome == errc::illegal_address) || !WEIR_HOLDS(each.told == 1)) return false;
  }
  for (const completion& c : points) {
    if (!WEIR_HOLDS(c.status() == errc::illegal_address)) return false;
  }
  // Later ones are refused, or settled with the same.
  if (!WEIR_HOLDS(result_of([&] { all.back().completion().wait(); }) == errc::illegal_address)) return false;
  held.clear();
  calls.reset();
  return true;
}

TEST(CompletionEnd, AFaultFailsAllAwaits) {
  test::in_a_fresh_process([] { return all_awaits_fail(false); });
}

TEST(CompletionEnd, AFaultFailsAllAwaitsThatAreAsked) {
  test::in_a_fresh_process([] { return all_awaits_fail(true); });
}

// A thread that waits without a limit is told at once, and not when what runs in its stream has ended.
TEST(CompletionEnd, AFaultIsToldWhileAHostFunctionRuns) {
  for (const bool asked : {false, true}) {
    test::in_a_fresh_process([asked] {
      const device gpu;
      std::optional<failing_table> calls;
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
      std::_Exit(good ? 0 : 1);  // a GPU's driver may never come back from a context that has failed
      return good;
    });
  }
}

// What is known stays true; what is pending is settled, one way or the other. A GPU's driver must not be asked while
// another thread resets the context, so there nobody awaits.
TEST(CompletionEnd, AContextThatIsReset) {
  for (const bool asked : {false, true}) {
    test::in_a_fresh_process([asked] {
      const device gpu;
      std::optional<failing_table> calls;
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
      if (awaited) wait_for(answers.told, 1);
      const errc end = pending.status();
      const bool good = WEIR_HOLDS(before.status() == errc::success) && WEIR_HOLDS(end != errc::not_ready) &&
                        WEIR_HOLDS(!awaited || end == outcome);
      std::_Exit(good ? 0 : 1);  // what is left is of the context before
      return good;
    });
  }
}

// Whoever waits at the end of the process is not told, and does not hold it up.
TEST(CompletionEnd, TheProcessEndsWhileSomebodyWaits) {
  for (const bool asked : {false, true}) {
    test::in_a_fresh_process([asked] {
      static std::optional<failing_table> calls;
      if (asked) calls.emplace();
      static const device gpu;
      static auto* const s = new stream{gpu};
      static auto* const held = new gate{*s};
      static count_of answers;
      static errc outcome = errc::success;
      await(s->completion(), answers, outcome);
      static_cast<void>(held);
      return WEIR_HOLDS(answers.told == 0);
    });
  }
}

// A thread that sleeps until work is done, which a static object's destructor joins once it has let the work go on.
struct joined_at_the_end {
  joined_at_the_end() = default;
  joined_at_the_end(const joined_at_the_end&) = delete;
  joined_at_the_end& operator=(const joined_at_the_end&) = delete;
  ~joined_at_the_end() {
    held->open();
    sleeping.join();
    if (outcome != errc::success) std::_Exit(1);
  }

  failing_table* calls = nullptr;  // for the rest of the process, as the stream and its gate
  stream* held_up = nullptr;
  gate* held = nullptr;
  errc outcome = errc::not_ready;
  std::atomic<pid_t> number{0};
  std::thread sleeping;
};

task<void> await_in_a_task(completion c) { co_await c; }

TEST(CompletionEnd, AThreadThatSleepsIsJoinedWhileTheProcessEnds) {
  const std::vector<void (*)(const completion&)> ways{
      [](const completion& c) { c.wait(); },
      [](const completion& c) { static_cast<void>(c.wait_for(1h)); },
      [](const completion& c) { sync_wait(await_in_a_task(c)); },
  };
  for (const bool asked : {false, true}) {
    for (const auto way : ways) {
      test::in_a_fresh_process([asked, way] {
        static const device gpu;
        // The driver is in use by now, and ends after this; whoever finds out about ends begins with the wait, and ends before.
        static joined_at_the_end last;
        if (asked) last.calls = new failing_table;
        last.held_up = new stream{gpu};
        last.held = new gate{*last.held_up};
        last.sleeping = std::thread{[c = last.held_up->completion(), way] {
          last.number = gettid();
          last.outcome = result_of([&] { way(c); });
        }};
        while (last.number == 0) std::this_thread::yield();
        test::wait_until_asleep(last.number);
        return true;
      });
    }
  }
}

TEST(CompletionEnd, AForkedChildIsToldThatItHasNoDriver) {
  test::in_a_fresh_process([] {
    const device gpu;
    stream s{gpu};
    gate held{s};
    const completion c = s.completion();
    count_of answers;
    errc outcome = errc::success;
    await(c, answers, outcome);
    const pid_t child = fork();
    if (child == 0) {
      errc told = errc::success;
      count_of in_child;
      await(c, in_child, told);
      const bool good = told == errc::not_initialized && c.status() == errc::not_initialized &&
                        result_of([&] { c.wait(); }) == errc::not_initialized;
      _exit(good ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    held.open();
    wait_for(answers.told, 1);
    return WEIR_HOLDS(WIFEXITED(status) && WEXITSTATUS(status) == 0) && WEIR_HOLDS(outcome == errc::success);
  });
}

}  // namespace
}  // namespace weir
