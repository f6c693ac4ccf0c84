// SPDX-License-Identifier: Apache-2.0
// exit_policy_test.cpp - how long exit waits for the reclaimer thread.
#include "api/deferred/exit_policy.hpp"

#include <weir/core/deferred.hpp>
#include <weir/device/device.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "api/deferred/reclaimer.hpp"
#include "driver/table.hpp"
#include "faults/deferred/exit_fixture.hpp"
#include "support/fresh_process.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::exit_policy;
using std::chrono::milliseconds;
using test::busy_wait;
using test::exit_timeout_seconds;
using test::start_reclaimer_thread;
using test::statics_are_destroyed;

constexpr milliseconds brief{5};

// Destroyed after everything that weir runs at exit. Fails if the count is not the expected one.
struct exit_count_check {
  exit_count_check() = default;
  exit_count_check(const exit_count_check&) = delete;
  exit_count_check& operator=(const exit_count_check&) = delete;
  ~exit_count_check() {
    if (count != wanted) std::_Exit(3);
  }

  std::atomic<int> count{0};
  int wanted = 0;
};
exit_count_check exit_count;

struct marks_static_destruction {
  marks_static_destruction() = default;
  marks_static_destruction(const marks_static_destruction&) = delete;
  marks_static_destruction& operator=(const marks_static_destruction&) = delete;
  ~marks_static_destruction() { statics_are_destroyed = true; }
};

// An object in a host function's closure, with a slow destructor.
struct slow_destructor {
  explicit slow_destructor(milliseconds takes) : time{takes} {}
  slow_destructor(const slow_destructor&) = delete;
  slow_destructor& operator=(const slow_destructor&) = delete;
  ~slow_destructor() {
    busy_wait(time);
    if (statics_are_destroyed) std::_Exit(4);
    ++exit_count.count;
  }
  milliseconds time;
};

// Its destructor makes the driver's thread defer such a closure.
struct defers_at_exit {
  explicit defers_at_exit(milliseconds takes) : time{takes} {}
  defers_at_exit(const defers_at_exit&) = delete;
  defers_at_exit& operator=(const defers_at_exit&) = delete;
  ~defers_at_exit() {
    launch_host(s, [held = std::make_shared<slow_destructor>(time)] {});
    s.sync();
  }
  stream s{device{}};
  milliseconds time;
};

// The closures are deferred by the driver's thread, and the exiting thread has waited for it.
TEST(ExitWait, ExitDestroysAllUserObjectsHoweverSlowTheyAre) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    exit_count.wanted = 3;
    static const defers_at_exit third{3 * exit_policy::stall_timeout};
    static const defers_at_exit second{brief};
    static const defers_at_exit first{brief};
    start_reclaimer_thread();
    return true;
  });
}

// There may be many closures if each is fast: older statics still exist when the closures are
// destroyed.
constexpr int many_short = 12;
template <int Number>
void make_short_lived_statics() {
  static const defers_at_exit one{
      Number > 2 * many_short || Number <= many_short ? 2 * brief : milliseconds{0}};
  if constexpr (Number > 1) make_short_lived_statics<Number - 1>();
}
void make_many_before_an_older_static() {
  static const marks_static_destruction older;
  make_short_lived_statics<3 * many_short>();
  exit_count.wanted = 3 * many_short;
}

TEST(ExitWait, ExitRunsAllDeferredTasksBeforeOlderStaticsAreDestroyed) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    make_many_before_an_older_static();
    start_reclaimer_thread();
    return true;
  });
}

// Here only the end of the main thread's thread_local objects shows that statics are being
// destroyed.
TEST(ExitWait, ExitRunsAllDeferredTasksBeforeStaticsNewerThanTheReclaimer) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    start_reclaimer_thread();
    make_many_before_an_older_static();
    return true;
  });
}

// Only the main thread defers tasks in this test.
struct defers_on_main_thread {
  defers_on_main_thread() = default;
  defers_on_main_thread(const defers_on_main_thread&) = delete;
  defers_on_main_thread& operator=(const defers_on_main_thread&) = delete;
  ~defers_on_main_thread() {
    auto* const held = new detail::deferred_task;
    held->run = [](detail::deferred_task& self) noexcept {
      delete &self;
      static_cast<void>(slow_destructor{6 * brief});
      return detail::task_result::done;
    };
    detail::defer_user_destructor(*held);
  }
};

TEST(ExitWait, ExitRunsMainThreadTasksBeforeStaticsNewerThanTheReclaimer) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    start_reclaimer_thread();
    exit_count.wanted = 2;
    static const marks_static_destruction older;
    static const defers_on_main_thread second;
    static const defers_on_main_thread first;
    return true;
  });
}

// Its destructor ends the process successfully.
struct ends_well {
  ends_well() = default;
  ends_well(const ends_well&) = delete;
  ends_well& operator=(const ends_well&) = delete;
  ~ends_well() {
    busy_wait(2 * exit_policy::stall_timeout);
    std::_Exit(0);
  }
};

struct takes {
  explicit takes(milliseconds as_long) : time{as_long} {}
  takes(const takes&) = delete;
  takes& operator=(const takes&) = delete;
  ~takes() { busy_wait(time); }
  milliseconds time;
};

// While a static is destroyed, the driver's thread defers closures for it. After a slow closure
// exit waits for a few more at once, and does not skip the last one.
struct uses_others {
  uses_others() = default;
  uses_others(const uses_others&) = delete;
  uses_others& operator=(const uses_others&) = delete;
  ~uses_others() {
    launch_host(s, [held = std::make_shared<takes>(is_first ? longest : milliseconds{0})] {});
    s.sync();
    if (is_last) launch_host(s, [held = std::make_shared<ends_well>()] {});
    s.sync();
  }
  static constexpr milliseconds longest{2'200};
  stream s{device{}};
  bool is_first = false;
  bool is_last = false;
};

constexpr int number_of_statics = 30;
template <int Number>
void make_statics() {
  static uses_others one;
  one.is_last = Number == number_of_statics;
  one.is_first = Number == 1;
  if constexpr (Number > 1) make_statics<Number - 1>();
}

TEST(ExitWait, ExitWaitsOnceMoreAfterTheLastStatic) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    make_statics<number_of_statics>();
    start_reclaimer_thread();
    return false;
  });
}

// The timeout limits the time without progress, and not the total time of exit.
TEST(ExitWait, ExitFreesAllUnusedMemory) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    constexpr int many = 300;
    exit_count.wanted = many;
    static const driver_table real = detail::driver();
    static driver_table slower = real;
    slower.cuMemFreeHost = [](void* memory) {
      busy_wait(milliseconds{1});
      ++exit_count.count;
      return real.cuMemFreeHost(memory);
    };
    detail::table_in_use = &slower;
    static std::vector<pinned_buffer<int>> unused;
    unused.reserve(many);
    for (int i = 0; i < many; ++i) unused.emplace_back(1);
    return true;
  });
}

// The driver's thread defers many frees, each one a driver call. The reclaimer makes progress with
// them and reaches a closure behind them.
struct leaves_memory {
  explicit leaves_memory(stream_ref by) : s{by} {}
  leaves_memory(const leaves_memory&) = delete;
  leaves_memory& operator=(const leaves_memory&) = delete;
  ~leaves_memory() {
    std::vector<pinned_buffer<int>> memory;
    memory.reserve(many);
    for (int i = 0; i < many; ++i) memory.emplace_back(1);
    launch_host(s, [&] { memory.clear(); });
    launch_host(s, [held = std::make_shared<slow_destructor>(milliseconds{0})] {});
    s.sync();
  }
  static constexpr int many = 60;
  stream_ref s;  // older than this object, as the stream's destruction is deferred, too
};

TEST(ExitWait, ExitWaitsForTasksOfOtherThreadsWhileTheReclaimerMakesProgress) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    exit_count.wanted = 1;
    static const driver_table real = detail::driver();
    static driver_table slower = real;
    slower.cuMemFreeHost = [](void* memory) {
      busy_wait(milliseconds{4});
      return real.cuMemFreeHost(memory);
    };
    static const stream s{device{}};
    static const marks_static_destruction older;
    static const leaves_memory leaving{s};
    start_reclaimer_thread();
    detail::table_in_use = &slower;
    return true;
  });
}

// Other threads may defer tasks endlessly and faster than they can run.
TEST(ExitWait, ExitDoesNotWaitForTasksThatAreDeferredEndlessly) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    static std::atomic<int> left{0};
    std::thread{[] {
      for (;; ++left) {
        auto* const held = new detail::deferred_task;
        held->run = [](detail::deferred_task& self) noexcept {
          busy_wait(milliseconds{1});
          delete &self;
          return detail::task_result::done;
        };
        detail::defer_user_destructor(*held);
        busy_wait(std::chrono::microseconds{200});
      }
    }}.detach();
    while (left < 100) std::this_thread::yield();
    return true;
  });
}

}  // namespace
}  // namespace weir
