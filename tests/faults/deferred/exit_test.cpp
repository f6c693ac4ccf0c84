// SPDX-License-Identifier: Apache-2.0
// exit_test.cpp - the reclaimer thread at exit: nothing hangs, and no task uses destroyed statics.
#include <weir/core/deferred.hpp>
#include <weir/device/device.hpp>
#include <weir/event/event.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "api/deferred/reclaimer.hpp"
#include "driver/table.hpp"
#include "support/fresh_process.hpp"
#include "support/yield_for.hpp"

namespace weir {
namespace {

using detail::driver_table;
using std::chrono::milliseconds;
using test::yield_for;

// Kills a process that hangs at exit, so that its test fails.
constexpr unsigned exit_timeout_seconds = 30;
constexpr milliseconds a_while{50};
constexpr milliseconds longer_than_exit_waits{1500};

// Destroyed last. Fails the process if fewer destructors of closures ran than expected.
struct destruction_counter {
  destruction_counter() = default;
  destruction_counter(const destruction_counter&) = delete;
  destruction_counter& operator=(const destruction_counter&) = delete;
  ~destruction_counter() {
    if (count != expected) std::_Exit(3);
  }
  std::atomic<int> count{0};
  int expected = 0;
};
destruction_counter destructions;

// A static that closures use.
std::atomic<bool> statics_are_destroyed{false};
struct used_static {
  used_static() = default;
  used_static(const used_static&) = delete;
  used_static& operator=(const used_static&) = delete;
  ~used_static() {
    statics_are_destroyed = true;
    yield_for(a_while);
  }
};

std::atomic<bool> has_begun{false};
struct uses_static {
  explicit uses_static(milliseconds takes) : time{takes} {}
  uses_static(const uses_static&) = delete;
  uses_static& operator=(const uses_static&) = delete;
  ~uses_static() {
    has_begun = true;
    yield_for(time);
    if (statics_are_destroyed) std::_Exit(4);
    ++destructions.count;
  }
  milliseconds time;
};

// Makes the driver's thread defer the destruction of such a closure.
void drop_closure(milliseconds time = {}) {
  const stream s{device{}};
  launch_host(s, [held = std::make_shared<uses_static>(time)] {});
  s.sync();
}

TEST(Exit, DeferredTasksAreDoneBeforeStaticsAreDestroyed) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    constexpr int many = 12;
    destructions.expected = many + 1;
    drop_closure();
    drain_deferred();
    static const used_static younger_than_the_reclaimer_thread;
    for (int i = 0; i < many; ++i) drop_closure(milliseconds{2});
    return true;
  });
}

TEST(Exit, ADestructorThatHasBegunEndsBeforeStaticsAreDestroyed) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    destructions.expected = 1;
    static const used_static used;
    drop_closure(longer_than_exit_waits);
    while (!has_begun) std::this_thread::yield();
    return true;
  });
}

// Its destructor leaves a closure to the reclaimer thread.
struct drops_closure {
  drops_closure() = default;
  drops_closure(const drops_closure&) = delete;
  drops_closure& operator=(const drops_closure&) = delete;
  ~drops_closure() {
    drop_closure();
    drain_deferred();
  }
};

TEST(Exit, TasksDeferredByDestructorsOfStaticsNeverRun) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    destructions.expected = 1;
    static const used_static used;
    static const drops_closure dropping;
    drop_closure();
    return true;
  });
}

// A driver call that returns only after exit has stopped waiting for it.
std::atomic<bool> is_freeing{false};
std::atomic<bool> may_free{false};
struct lets_call_return {
  lets_call_return() = default;
  lets_call_return(const lets_call_return&) = delete;
  lets_call_return& operator=(const lets_call_return&) = delete;
  ~lets_call_return() {
    statics_are_destroyed = true;
    may_free = true;
    yield_for(a_while);
  }
};

TEST(Exit, TasksBehindABlockedDriverCallNeverRunAfterStaticsEnd) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    static const driver_table real = detail::driver();
    static driver_table held = real;
    held.cuMemFreeHost = [](void* memory) {
      is_freeing = true;
      while (!may_free) std::this_thread::yield();
      return real.cuMemFreeHost(memory);
    };
    static const lets_call_return used;
    detail::table_in_use = &held;
    std::optional<pinned_buffer<int>> memory{std::in_place, 1};
    memory.reset();
    while (!is_freeing) std::this_thread::yield();
    drop_closure();
    return true;
  });
}

// The blocked call may hold a lock that all other calls need.
TEST(Exit, DestructorsOfStaticsDoNotWaitForABlockedDriverCall) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    static driver_table held = detail::driver();
    held.cuStreamDestroy_v2 = [](abi::CUstream) -> abi::CUresult { std::_Exit(5); };
    held.cuEventDestroy_v2 = [](abi::CUevent) -> abi::CUresult { std::_Exit(5); };
    static const stream s{device{}};
    static const event e{device{}};
    detail::table_in_use = &held;
    static std::atomic<bool> is_blocked{false};
    detail::defer([]() noexcept {
      for (is_blocked = true;;) ::pause();
      return detail::task_result::done;
    });
    while (!is_blocked) std::this_thread::yield();
    return true;
  });
}

// Other threads may defer tasks endlessly and faster than they can run.
TEST(Exit, ExitDoesNotWaitForTasksThatAreDeferredEndlessly) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    static std::atomic<int> left{0};
    std::thread{[] {
      for (;; ++left) {
        detail::defer([]() noexcept {
          yield_for(milliseconds{1});
          return detail::task_result::done;
        });
        yield_for(std::chrono::microseconds{200});
      }
    }}.detach();
    while (left < 100) std::this_thread::yield();
    return true;
  });
}

TEST(Exit, ExitOnAnyThreadDrains) {
  test::in_a_fresh_process([]() -> bool {
    alarm(exit_timeout_seconds);
    destructions.expected = 1;
    drop_closure(a_while);
    std::thread{[] { std::exit(0); }}.join();
    std::abort();
  });
}

}  // namespace
}  // namespace weir
