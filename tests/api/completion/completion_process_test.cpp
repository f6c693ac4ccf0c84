// completion_process_test.cpp - awaits that are under way when the process ends, or forks.
#include <weir/completion/completion.hpp>
#include <weir/device/device.hpp>
#include <weir/completion/executor.hpp>
#include <weir/completion/resume_on.hpp>
#include <weir/stream/stream.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/fault_table.hpp"
#include "support/answer.hpp"
#include "support/asleep.hpp"
#include "support/child.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::failing_table;
using test::answer;
using test::await;
using test::gate;
using test::result_of;
using namespace std::chrono_literals;

// Lets the work go on while statics are destroyed, when nobody is told any more. What it names stays for the rest of the process.
struct opened_at_the_end {
  opened_at_the_end() = default;
  opened_at_the_end(const opened_at_the_end&) = delete;
  opened_at_the_end& operator=(const opened_at_the_end&) = delete;
  ~opened_at_the_end() {
    held->open();
    for (int i = 0; i < 2000; ++i) s->sync();  // who would tell has time to
    if (answers.told != 0) std::_Exit(1);
  }

  failing_table* calls = nullptr;
  stream* s = nullptr;
  gate* held = nullptr;
  answer answers;
};

// Whoever waits at the end of the process is not told, and does not hold it up.
TEST(CompletionProcess, EndsWhileSomebodyWaits) {
  for (const bool asked : {false, true}) {
    test::in_a_fresh_process([asked] {
      static const device gpu;
      static opened_at_the_end last;
      if (asked) last.calls = new failing_table;
      last.s = new stream{gpu};
      last.held = new gate{*last.s};
      await(last.s->completion(), last.answers);
      return WEIR_HOLDS(last.answers.told == 0);
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

// The thread that sleeps has waited for nothing itself by then.
task<void> await_elsewhere(completion c) {
  co_await resume_on([](continuation rest) { std::thread{rest}.detach(); });
  co_await c;
}
task<void> await_on_an_executor(completion c) {
  co_await c.on([](continuation rest) { rest(); });
}

TEST(CompletionProcess, AThreadThatSleepsIsJoinedWhileTheProcessEnds) {
  const std::vector<void (*)(const completion&)> ways{
      [](const completion& c) { c.wait(); },
      [](const completion& c) { static_cast<void>(c.wait_for(1h)); },
      [](const completion& c) { sync_wait(await_in_a_task(c)); },
      [](const completion& c) { sync_wait(await_elsewhere(c)); },
      [](const completion& c) { sync_wait(await_on_an_executor(c)); },
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

TEST(CompletionProcess, AForkedChildIsToldThatItHasNoDriver) {
  test::in_a_fresh_process([] {
    const device gpu;
    stream s{gpu};
    gate held{s};
    const completion c = s.completion();
    answer here;
    await(c, here);
    const pid_t child = fork();
    if (child == 0) {
      answer awaited;
      await(c, awaited);
      answer called;
      c.then([&](errc outcome) { called.tell(outcome); });  // at once, as no thread of weir's is there
      const bool good = awaited.outcome == errc::not_initialized && called.outcome == errc::not_initialized &&
                        c.status() == errc::not_initialized && result_of([&] { c.wait(); }) == errc::not_initialized &&
                        here.told == 0;
      _exit(good ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    held.open();
    while (here.told != 1) std::this_thread::yield();
    return WEIR_HOLDS(WIFEXITED(status) && WEXITSTATUS(status) == 0) && WEIR_HOLDS(here.outcome == errc::success);
  });
}

}  // namespace
}  // namespace weir
