// completion_process_test.cpp - awaits that are under way when the process ends, or forks.
#include <weir/completion/completion.hpp>
#include <weir/completion/executor.hpp>
#include <weir/completion/resume_on.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/stream.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/fresh_process.hpp"
#include "support/gate.hpp"
#include "support/recorded_outcome.hpp"
#include "support/wait_until_asleep.hpp"

namespace weir {
namespace {

using detail::fault_table;
using test::await;
using test::gate;
using test::recorded_outcome;
using test::result_of;
using namespace std::chrono_literals;

// Lets the work go on while statics are destroyed, when nobody is told any more. What it names
// stays for the rest of the process.
struct opened_at_exit {
  opened_at_exit() = default;
  opened_at_exit(const opened_at_exit&) = delete;
  opened_at_exit& operator=(const opened_at_exit&) = delete;
  ~opened_at_exit() {
    held->open();
    for (int i = 0; i < 2000; ++i) s->sync();  // who would tell has time to
    if (answers.deliveries != 0) std::_Exit(1);
  }

  fault_table* calls = nullptr;
  stream* s = nullptr;
  gate* held = nullptr;
  recorded_outcome answers;
};

// Whoever waits at the end of the process is not told, and does not hold it up.
TEST(CompletionProcess, TheProcessEndsWhileACompletionIsAwaited) {
  for (const bool asked : {false, true}) {
    test::in_a_fresh_process([asked] {
      static const device gpu;
      static opened_at_exit last;
      if (asked) last.calls = new fault_table;
      last.s = new stream{gpu};
      last.held = new gate{*last.s};
      await(last.s->completion(), last.answers);
      return WEIR_HOLDS(last.answers.deliveries == 0);
    });
  }
}

// A thread that sleeps until work is done, which a static object's destructor joins once it has let
// the work go on.
struct joined_at_exit {
  joined_at_exit() = default;
  joined_at_exit(const joined_at_exit&) = delete;
  joined_at_exit& operator=(const joined_at_exit&) = delete;
  ~joined_at_exit() {
    held->open();
    sleeping.join();
    if (outcome != errc::success) std::_Exit(1);
  }

  fault_table* calls = nullptr;  // for the rest of the process, as the stream and its gate
  stream* held_up = nullptr;
  gate* held = nullptr;
  errc outcome = errc::not_ready;
  std::atomic<pid_t> number{0};
  std::thread sleeping;
};

task<void> await_in_a_task(completion c) { co_await c; }

// The thread that sleeps has waited for nothing itself by then.
task<void> await_on_another_thread(completion c) {
  co_await resume_on([](continuation work) { std::thread{work}.detach(); });
  co_await c;
}
task<void> await_on_an_executor(completion c) {
  co_await c.on([](continuation work) { work(); });
}

TEST(CompletionProcess, AWaitingThreadCanBeJoinedWhileTheProcessEnds) {
  const std::vector<void (*)(const completion&)> ways{
      [](const completion& c) { c.wait(); },
      [](const completion& c) { static_cast<void>(c.wait_for(1h)); },
      [](const completion& c) { sync_wait(await_in_a_task(c)); },
      [](const completion& c) { sync_wait(await_on_another_thread(c)); },
      [](const completion& c) { sync_wait(await_on_an_executor(c)); },
  };
  for (const bool asked : {false, true}) {
    for (const auto way : ways) {
      test::in_a_fresh_process([asked, way] {
        static const device gpu;
        // The driver is in use by now, and ends after this; whoever finds out about ends begins
        // with the wait, and ends before.
        static joined_at_exit last;
        if (asked) last.calls = new fault_table;
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

TEST(CompletionProcess, AForkedChildSeesNotInitializedForEveryWait) {
  test::in_a_fresh_process([] {
    const device gpu;
    stream s{gpu};
    gate held{s};
    const completion c = s.completion();
    recorded_outcome here;
    await(c, here);
    const pid_t child = fork();
    if (child == 0) {
      recorded_outcome awaited;
      await(c, awaited);
      recorded_outcome called;
      c.then([&](errc outcome) {
        called.record(outcome);
      });  // at once, as no thread of weir's is there
      const bool good =
          awaited.outcome == errc::not_initialized && called.outcome == errc::not_initialized &&
          c.status() == errc::not_initialized &&
          result_of([&] { c.wait(); }) == errc::not_initialized && here.deliveries == 0;
      _exit(good ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    held.open();
    while (here.deliveries != 1) std::this_thread::yield();
    return WEIR_HOLDS(WIFEXITED(status) && WEXITSTATUS(status) == 0) &&
           WEIR_HOLDS(here.outcome == errc::success);
  });
}

}  // namespace
}  // namespace weir
