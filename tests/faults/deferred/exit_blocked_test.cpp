// SPDX-License-Identifier: Apache-2.0
// exit_blocked_test.cpp - a driver call that exit no longer waits for: later tasks destroy no
// objects of the program after its statics.
#include <weir/core/deferred.hpp>
#include <weir/device/device.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "api/deferred/exit_policy.hpp"
#include "api/deferred/reclaimer.hpp"
#include "driver/table.hpp"
#include "faults/deferred/exit_fixture.hpp"
#include "support/fresh_process.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::exit_policy;
using test::busy_wait;
using test::exit_timeout_seconds;
using test::start_reclaimer_thread;
using test::statics_are_destroyed;

// A driver call that returns only after exit has stopped waiting for it.
std::atomic<bool> freeing{false};
std::atomic<bool> may_free_now{false};

// May be destroyed before the statics, and not during or after their destruction.
struct closure {
  closure() = default;
  closure(const closure&) = delete;
  closure& operator=(const closure&) = delete;
  ~closure() {
    if (statics_are_destroyed) std::_Exit(4);
  }
};

// A task that is deferred later waits behind the blocked call.
struct defers_another {
  defers_another() = default;
  defers_another(const defers_another&) = delete;
  defers_another& operator=(const defers_another&) = delete;
  ~defers_another() {
    if (!freeing) return;
    auto* const held = new detail::deferred_task;
    held->run = [](detail::deferred_task& self) noexcept {
      delete &self;
      static_cast<void>(closure{});
      return detail::task_result::done;
    };
    detail::defer_user_destructor(*held);
  }
};

struct destroyed_at_exit {
  destroyed_at_exit() = default;
  destroyed_at_exit(const destroyed_at_exit&) = delete;
  destroyed_at_exit& operator=(const destroyed_at_exit&) = delete;
  ~destroyed_at_exit() {
    statics_are_destroyed = true;
    if (!freeing) return;
    may_free_now = true;
    drain_deferred();
  }
};
destroyed_at_exit beside;
defers_another before_it;  // constructed before the reclaimer thread starts

TEST(ExitHold, TasksBehindABlockedDriverCallNeverRunAfterStaticsEnd) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    static const driver_table real = detail::driver();
    static driver_table held = real;
    held.cuMemFreeHost = [](void* memory) {
      freeing = true;
      while (!may_free_now) std::this_thread::yield();
      return real.cuMemFreeHost(memory);
    };
    detail::table_in_use = &held;
    const stream s{device{}};
    std::optional<pinned_buffer<int>> memory{std::in_place, 1};
    memory.reset();
    while (!freeing) std::this_thread::yield();
    launch_host(s, [held_by_it = std::make_shared<closure>()] {});
    s.sync();
    return true;
  });
}

// Like the test above, after an earlier wait for other threads: the driver's thread defers closures
// for the static that waits for it.
struct defers_two {
  defers_two() = default;
  defers_two(const defers_two&) = delete;
  defers_two& operator=(const defers_two&) = delete;
  ~defers_two() {
    const stream s{device{}};
    launch_host(s, [memory = std::make_shared<pinned_buffer<int>>(1)] {});
    launch_host(s, [held_by_it = std::make_shared<closure>()] {});
    s.sync();
  }
};

TEST(ExitHold, TasksThatTheExitWaitDidNotReachNeverRunAfterStaticsEnd) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    static const driver_table real = detail::driver();
    static driver_table slow = real;
    slow.cuMemFreeHost = [](void* memory) {
      busy_wait(3 * exit_policy::stall_timeout);
      return real.cuMemFreeHost(memory);
    };
    static const defers_two leaving;
    start_reclaimer_thread();
    detail::table_in_use = &slow;
    return true;
  });
}

}  // namespace
}  // namespace weir
