// exit_wait_test.cpp - how long the end of the process waits for weir's own thread.
#include "api/deferred/exit_wait.hpp"

#include <weir/core/deferred.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/memory/pinned_buffer.hpp>
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
#include "support/child.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::exit_wait;
using std::chrono::milliseconds;
using test::begin_weirs_thread;
using test::seconds_to_end;
using test::statics_end;
using test::take;

constexpr milliseconds brief{5};

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

struct sets_an_end {
  sets_an_end() = default;
  sets_an_end(const sets_an_end&) = delete;
  sets_an_end& operator=(const sets_an_end&) = delete;
  ~sets_an_end() { statics_end = true; }
};

// What a host function's closure holds, whose end takes a while.
struct slow_to_end {
  explicit slow_to_end(milliseconds takes) : time{takes} {}
  slow_to_end(const slow_to_end&) = delete;
  slow_to_end& operator=(const slow_to_end&) = delete;
  ~slow_to_end() {
    take(time);
    if (statics_end) std::_Exit(4);
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

// The thread of the driver's that leaves closures is not the one that ends the process, but that has waited for it.
TEST(ExitWait, IsForAllObjectsOfTheProgramsHoweverLateAndLong) {
  test::in_a_fresh_process([] {
    alarm(seconds_to_end);
    last_of_all.wanted = 3;
    static const leaves_at_last third{3 * exit_wait::patience};
    static const leaves_at_last second{brief};
    static const leaves_at_last first{brief};
    begin_weirs_thread();
    return true;
  });
}

// There may be many, as long as each is short or takes no time at all: an older static is still there when they end.
constexpr int many_short = 12;
template <int Number>
void make_brief_statics() {
  static const leaves_at_last one{Number > 2 * many_short || Number <= many_short ? 2 * brief : milliseconds{0}};
  if constexpr (Number > 1) make_brief_statics<Number - 1>();
}
void leave_many_before_an_older_static() {
  static const sets_an_end older;
  make_brief_statics<3 * many_short>();
  last_of_all.wanted = 3 * many_short;
}

TEST(ExitWait, IsForAllBeforeOlderStatics) {
  test::in_a_fresh_process([] {
    alarm(seconds_to_end);
    leave_many_before_an_older_static();
    begin_weirs_thread();
    return true;
  });
}

// Where nothing but the end of the main thread tells that statics are destroyed.
TEST(ExitWait, IsForAllBeforeStaticsThatAreYoungerThanWeirsThread) {
  test::in_a_fresh_process([] {
    alarm(seconds_to_end);
    begin_weirs_thread();
    leave_many_before_an_older_static();
    return true;
  });
}

// Nobody but the main thread leaves anything here.
struct leaves_of_itself {
  leaves_of_itself() = default;
  leaves_of_itself(const leaves_of_itself&) = delete;
  leaves_of_itself& operator=(const leaves_of_itself&) = delete;
  ~leaves_of_itself() {
    auto* const held = new detail::chore;
    held->run = [](detail::chore& self) noexcept {
      delete &self;
      static_cast<void>(slow_to_end{6 * brief});
      return detail::chore_result::done;
    };
    detail::leave_program_chore(*held);
  }
};

TEST(ExitWait, IsForWhatTheMainThreadLeavesBeforeStaticsThatAreYoungerThanWeirsThread) {
  test::in_a_fresh_process([] {
    alarm(seconds_to_end);
    begin_weirs_thread();
    last_of_all.wanted = 2;
    static const sets_an_end older;
    static const leaves_of_itself second;
    static const leaves_of_itself first;
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

struct takes {
  explicit takes(milliseconds as_long) : time{as_long} {}
  takes(const takes&) = delete;
  takes& operator=(const takes&) = delete;
  ~takes() { take(time); }
  milliseconds time;
};

// Beside a static's destructor the driver's thread leaves closures for it. Where one has kept exit for long a few more are
// waited for at once; the last of all is not forgotten.
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

TEST(ExitWait, ComesOnceMoreAtLast) {
  test::in_a_fresh_process([] {
    alarm(seconds_to_end);
    make_statics<number_of_statics>();
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
    unused.reserve(many);
    for (int i = 0; i < many; ++i) unused.emplace_back(1);
    return true;
  });
}

// The driver's thread leaves memory, each piece of which a call of the driver frees: weir's thread gets on, to a closure.
struct leaves_memory {
  explicit leaves_memory(stream_ref by) : s{by} {}
  leaves_memory(const leaves_memory&) = delete;
  leaves_memory& operator=(const leaves_memory&) = delete;
  ~leaves_memory() {
    std::vector<pinned_buffer<int>> memory;
    memory.reserve(many);
    for (int i = 0; i < many; ++i) memory.emplace_back(1);
    launch_host(s, [&] { memory.clear(); });
    launch_host(s, [held = std::make_shared<slow_to_end>(milliseconds{0})] {});
    s.sync();
  }
  static constexpr int many = 60;
  stream_ref s;  // older: what ends it leaves that, too
};

TEST(ExitWait, IsForOthersWhileWeirsThreadGetsOn) {
  test::in_a_fresh_process([] {
    alarm(seconds_to_end);
    last_of_all.wanted = 1;
    static const driver_table real = detail::driver();
    static driver_table slower = real;
    slower.cuMemFreeHost = [](void* memory) {
      take(milliseconds{4});
      return real.cuMemFreeHost(memory);
    };
    static const stream s{device{}};
    static const sets_an_end older;
    static const leaves_memory leaving{s};
    begin_weirs_thread();
    detail::table_in_use = &slower;
    return true;
  });
}

// There is no end to what others may leave, faster than it can be ended.
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
