// exit_wait_test.cpp - how long the end of the process waits for weir's own thread.
#include "api/exit_wait.hpp"

#include <weir/deferred.hpp>
#include <weir/device.hpp>
#include <weir/host_function.hpp>
#include <weir/pinned_buffer.hpp>
#include <weir/stream.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "api/reclaimer.hpp"
#include "driver/table.hpp"
#include "support/child.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::exit_wait;
using std::chrono::milliseconds;

constexpr milliseconds brief{5};

// A process that hangs at its end is killed, and its test fails.
constexpr unsigned seconds_to_end = 30;

// Keeps this thread, and its processor, for so long, as a test of patience has to.
void take(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) continue;
}

// Destroyed after all that anything of weir leaves for the end of the process: has as much come as should have?
struct counted_at_last {
  counted_at_last() = default;
  counted_at_last(const counted_at_last&) = delete;
  counted_at_last& operator=(const counted_at_last&) = delete;
  ~counted_at_last() {
    if (count != wanted) std::_Exit(3);
  }

  std::atomic<int> count{0};
  int wanted = 0;
};
counted_at_last last_of_all;

// What a host function's closure holds, whose end takes a while.
struct slow_to_end {
  explicit slow_to_end(milliseconds takes) : time{takes} {}
  slow_to_end(const slow_to_end&) = delete;
  slow_to_end& operator=(const slow_to_end&) = delete;
  ~slow_to_end() {
    take(time);
    ++last_of_all.count;
  }
  milliseconds time;
};

// Whose destructor has the driver's thread leave such a closure.
struct leaves_at_last {
  explicit leaves_at_last(milliseconds takes) : time{takes} {}
  leaves_at_last(const leaves_at_last&) = delete;
  leaves_at_last& operator=(const leaves_at_last&) = delete;
  ~leaves_at_last() {
    launch_host(s, [held = std::make_shared<slow_to_end>(time)] {});
    s.sync();
  }
  stream s{device{}};
  milliseconds time;
};

// Has weir's thread begun, so that what is made before is destroyed after the first wait.
void begin_weirs_thread() {
  const stream s{device{}};
  launch_host(s, [held = std::make_shared<int>(1)] {});
  s.sync();
  drain_deferred();
}

// The thread of the driver's that leaves closures is not the one that ends the process, but that has waited for it.
TEST(ExitWait, IsForAllObjectsOfTheProgramsHoweverLateAndLong) {
  test::in_a_fresh_process([] {
    alarm(seconds_to_end);
    last_of_all.wanted = 7;
    static const leaves_at_last seventh{3 * exit_wait::patience};
    static const leaves_at_last sixth{brief};
    static const leaves_at_last fifth{brief};
    static const leaves_at_last fourth{brief};
    static const leaves_at_last third{brief};
    static const leaves_at_last second{brief};
    static const leaves_at_last first{brief};
    begin_weirs_thread();
    return true;
  });
}

// Whose end ends the process well.
struct ends_well {
  ends_well() = default;
  ends_well(const ends_well&) = delete;
  ends_well& operator=(const ends_well&) = delete;
  ~ends_well() {
    take(2 * exit_wait::patience);
    std::_Exit(0);
  }
};

// Statics that others leave something beside may be many, and the last of them is not forgotten.
struct uses_others {
  uses_others() = default;
  uses_others(const uses_others&) = delete;
  uses_others& operator=(const uses_others&) = delete;
  ~uses_others() {
    launch_host(s, [held = std::make_shared<int>(1)] {});
    s.sync();
    if (is_last) launch_host(s, [held = std::make_shared<ends_well>()] {});
    s.sync();
  }
  stream s{device{}};
  bool is_last = false;
};

template <int Number>
void make_statics() {
  static uses_others one;
  one.is_last = Number == 30;
  if constexpr (Number > 0) make_statics<Number - 1>();
}

TEST(ExitWait, ComesOnceMoreAtLast) {
  test::in_a_fresh_process([] {
    alarm(seconds_to_end);
    make_statics<30>();
    begin_weirs_thread();
    return false;
  });
}

// It counts how long the thread does not get on, and not how long exit takes.
TEST(ExitWait, IsForAllMemoryThatNothingUses) {
  test::in_a_fresh_process([] {
    alarm(seconds_to_end);
    constexpr int many = 300;
    last_of_all.wanted = many;
    static const driver_table real = detail::driver();
    static driver_table slower = real;
    slower.cuMemFreeHost = [](void* memory) {
      take(milliseconds{1});
      ++last_of_all.count;
      return real.cuMemFreeHost(memory);
    };
    detail::table_in_use = &slower;
    static std::vector<pinned_buffer<int>> unused;
    for (int i = 0; i < many; ++i) unused.emplace_back(1);
    return true;
  });
}

// A call of the driver's that returns when exit has given it up.
std::atomic<bool> freeing{false};
std::atomic<bool> may_free_now{false};

// It may end while statics are there, and not beside or after them.
struct closure {
  closure() = default;
  closure(const closure&) = delete;
  closure& operator=(const closure&) = delete;
  ~closure() {
    if (statics_end) std::_Exit(4);
  }
  static inline std::atomic<bool> statics_end{false};
};

struct destroyed_at_exit {
  destroyed_at_exit() = default;
  destroyed_at_exit(const destroyed_at_exit&) = delete;
  destroyed_at_exit& operator=(const destroyed_at_exit&) = delete;
  ~destroyed_at_exit() {
    closure::statics_end = true;
    if (!freeing) return;
    may_free_now = true;
    drain_deferred();
  }
};
destroyed_at_exit beside;  // there before weir's thread, whoever begins that

TEST(ExitWait, GivenUpNothingOfTheProgramsEndsBesideItsStatics) {
  test::in_a_fresh_process([] {
    alarm(seconds_to_end);
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

// The same where a wait for others was over first: the driver's thread leaves closures for the static that waits for it.
struct leaves_two {
  leaves_two() = default;
  leaves_two(const leaves_two&) = delete;
  leaves_two& operator=(const leaves_two&) = delete;
  ~leaves_two() {
    const stream s{device{}};
    launch_host(s, [memory = std::make_shared<pinned_buffer<int>>(1)] {});
    launch_host(s, [held_by_it = std::make_shared<closure>()] {});
    s.sync();
  }
};

TEST(ExitWait, NothingOfTheProgramsEndsBesideStaticsThatTheirWaitIsOverFor) {
  test::in_a_fresh_process([] {
    alarm(seconds_to_end);
    static const driver_table real = detail::driver();
    static driver_table slow = real;
    slow.cuMemFreeHost = [](void* memory) {
      take(3 * exit_wait::patience);
      return real.cuMemFreeHost(memory);
    };
    static const leaves_two leaving;
    begin_weirs_thread();
    detail::table_in_use = &slow;
    return true;
  });
}

// Nor is there an end to what others may leave, faster than it can be ended.
TEST(ExitWait, IsNotForAllThatOthersGoOnLeaving) {
  test::in_a_fresh_process([] {
    alarm(seconds_to_end);
    static std::atomic<int> left{0};
    std::thread{[] {
      for (;; ++left) {
        auto* const held = new detail::chore;
        held->run = [](detail::chore& self) noexcept {
          take(milliseconds{1});
          delete &self;
          return detail::chore_result::done;
        };
        detail::leave_program_chore(*held);
        take(std::chrono::microseconds{200});
      }
    }}.detach();
    while (left < 100) std::this_thread::yield();
    return true;
  });
}

}  // namespace
}  // namespace weir
