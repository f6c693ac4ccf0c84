// SPDX-License-Identifier: Apache-2.0
// completion_process_test.cpp - awaits that are pending when the process exits or forks.
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

// Opens the gate while statics are destroyed: no continuation may run then. What it points to is
// never destroyed.
struct opened_at_exit {
  opened_at_exit() = default;
  opened_at_exit(const opened_at_exit&) = delete;
  opened_at_exit& operator=(const opened_at_exit&) = delete;
  ~opened_at_exit() {
    held->open();
    for (int i = 0; i < 2000; ++i) s->sync();  // time for a notification that must not come
    if (answers.deliveries != 0) std::_Exit(1);
  }

  fault_table* calls = nullptr;
  stream* s = nullptr;
  gate* held = nullptr;
  recorded_outcome answers;
};

// An await that is pending at exit is not completed and does not delay exit.
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

// A static object that opens the gate in its destructor and then joins the thread that sleeps until
// the work is done.
struct joined_at_exit {
  joined_at_exit() = default;
  joined_at_exit(const joined_at_exit&) = delete;
  joined_at_exit& operator=(const joined_at_exit&) = delete;
  ~joined_at_exit() {
    held->open();
    sleeping.join();
    if (outcome != errc::success) std::_Exit(1);
  }

  fault_table* calls = nullptr;  // never destroyed, like the stream and its gate
  stream* held_up = nullptr;
  gate* held = nullptr;
  errc outcome = errc::not_ready;
  std::atomic<pid_t> number{0};
  std::thread sleeping;
};

task<void> await_in_a_task(completion c) { co_await c; }

// The blocked thread itself waits for nothing: an executor's thread awaits.
task<void> await_on_another_thread(completion c) {
  co_await resume_on([](continuation work) { std::thread{work}.detach(); });
  co_await c;
}
task<void> await_on_an_executor(completion c) {
  co_await c.resume_on([](continuation work) { work(); });
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
        // The driver is initialized already, so it shuts down after this object. weir notices exit
        // when the wait begins, and therefore before this object is destroyed.
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
      });  // inside the call, as the child has no reactor thread
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
