// SPDX-License-Identifier: Apache-2.0
// deferred_exit_within_test.cpp - exit() called on the reclaimer thread, by a destructor of what a
// closure holds.
#include <weir/core/deferred.hpp>
#include <weir/device/device.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <gnu/libc-version.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "support/fresh_process.hpp"
#include "support/wait_until_asleep.hpp"
#include "support/yield_for.hpp"

namespace weir {
namespace {

// Kills a process that hangs at exit, so that its test fails.
constexpr unsigned own_exit_timeout_seconds = 30;

using std::chrono::milliseconds;
using test::yield_for;

constexpr milliseconds a_while{50};

std::atomic<bool> may_exit{false};
std::atomic<bool> exits{false};

struct exits_at_its_end {
  explicit exits_at_its_end(int with) : status{with} {}
  exits_at_its_end(const exits_at_its_end&) = delete;
  exits_at_its_end& operator=(const exits_at_its_end&) = delete;
  ~exits_at_its_end() {
    while (!may_exit) std::this_thread::yield();
    exits = true;
    std::exit(status);
  }
  int status;
};

// A process exits once, so this thread only waits.
[[noreturn]] void exit_on_weirs_thread() {
  const stream s{device{}};
  launch_host(s, [held = std::make_shared<exits_at_its_end>(0)] {});
  s.sync();
  for (;;) ::pause();
}

// A static object whose thread runs the body and is joined at exit.
template <class Body>
struct joins {
  explicit joins(Body body) : other{body} {}
  joins(const joins&) = delete;
  joins& operator=(const joins&) = delete;
  ~joins() { other.join(); }
  std::thread other;
};

// Returns once there is a deferred task.
void await_left() {
  while (deferred_count() == 0) std::this_thread::yield();
}

TEST(DeferredExitWithin, ExitInADeferredTaskEndsADrainOnAJoinedThread) {
  test::in_a_fresh_process([]() -> bool {
    alarm(own_exit_timeout_seconds);
    static const joins waits{[] {
      await_left();
      may_exit = true;
      drain_deferred();
    }};
    exit_on_weirs_thread();
  });
}

TEST(DeferredExitWithin, ExitInADeferredTaskLeavesNoTasksToWaitFor) {
  test::in_a_fresh_process([]() -> bool {
    alarm(own_exit_timeout_seconds);
    static const joins waits{[] {
      std::optional<pinned_buffer<int>> memory{std::in_place, 1};
      may_exit = true;
      while (!exits) std::this_thread::yield();
      yield_for(a_while);
      memory.reset();
      drain_deferred();
      while (deferred_count() != 0) std::this_thread::yield();
    }};
    exit_on_weirs_thread();
  });
}

std::atomic<bool> newer_is_going{false};
std::atomic<bool> newer_is_gone{false};
struct newer_static {
  newer_static() = default;
  newer_static(const newer_static&) = delete;
  newer_static& operator=(const newer_static&) = delete;
  ~newer_static() {
    newer_is_going = true;
    yield_for(a_while);
    newer_is_gone = true;
  }
};
struct older_static {
  older_static() = default;
  older_static(const older_static&) = delete;
  older_static& operator=(const older_static&) = delete;
  ~older_static() {
    if (!newer_is_gone) std::_Exit(3);
  }
};
// The main thread returns from main() meanwhile.
TEST(DeferredExitWithin, TheMainThreadDoesNotStartASecondExit) {
  test::in_a_fresh_process([] {
    alarm(own_exit_timeout_seconds);
    static const older_static older;
    static const newer_static newer;
    may_exit = true;
    const stream s{device{}};
    launch_host(s, [held = std::make_shared<exits_at_its_end>(0)] {});
    s.sync();
    while (!newer_is_going) std::this_thread::yield();
    return false;
  });
}

// Since glibc 2.41 a second exit() blocks.
bool is_exit_locked() {
  int minor = 0;
  return std::sscanf(::gnu_get_libc_version(), "2.%d", &minor) == 1 && minor >= 41;
}

// Destroyed at the beginning of an exit on its thread.
struct allows_exit {
  allows_exit() = default;
  allows_exit(const allows_exit&) = delete;
  allows_exit& operator=(const allows_exit&) = delete;
  ~allows_exit() { may_exit = true; }
};
struct exits_while_main_drains {
  exits_while_main_drains() = default;
  exits_while_main_drains(const exits_while_main_drains&) = delete;
  exits_while_main_drains& operator=(const exits_while_main_drains&) = delete;
  ~exits_while_main_drains() {
    while (!may_exit) std::this_thread::yield();
    test::wait_until_asleep(::getpid());
    std::exit(1);
  }
};

// One thread destroys the statics, and its exit status is the process's.
TEST(DeferredExitWithin, ExitInADeferredTaskIsLeftToAnExitInProgress) {
  if (is_exit_locked()) GTEST_SKIP() << "this C library blocks a second exit()";
  test::in_a_fresh_process([] {
    alarm(own_exit_timeout_seconds);
    static const older_static older;
    static const newer_static newer;
    static thread_local const allows_exit allowing;
    const stream s{device{}};
    launch_host(s, [held = std::make_shared<exits_while_main_drains>()] {});
    s.sync();
    return true;
  });
}

}  // namespace
}  // namespace weir
