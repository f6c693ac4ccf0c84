// SPDX-License-Identifier: Apache-2.0
// reclaimer_test.cpp - the reclaimer thread: which tasks a drain waits for.
#include "api/deferred/reclaimer.hpp"

#include <weir/core/deferred.hpp>
#include <weir/device/device.hpp>
#include <weir/event/event.hpp>
#include <weir/stream/stream.hpp>

#include <pthread.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <optional>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "api/core/call_restrictions.hpp"
#include "api/device/device_wait.hpp"
#include "support/fault_table.hpp"
#include "support/fresh_process.hpp"
#include "support/wait_until_asleep.hpp"

namespace weir {
namespace {

using detail::defer;
using detail::task_result;

task_result done_if(bool allowed) { return allowed ? task_result::done : task_result::busy; }

// A task that occupies the reclaimer thread until it is released.
class long_task {
 public:
  long_task() {
    defer([this]() noexcept {
      running_ = true;
      while (!can_end_) std::this_thread::yield();
      return task_result::done;
    });
    while (!running_) std::this_thread::yield();
  }
  void end() { can_end_ = true; }

 private:
  std::atomic<bool> running_{false};
  std::atomic<bool> can_end_{false};
};

// A thread that drains and is asleep when the constructor returns.
class background_drain {
 public:
  background_drain()
      : thread_{[this] {
          number_ = gettid();
          drain_deferred();
        }} {
    while (number_ == 0) std::this_thread::yield();
    test::wait_until_asleep(number_);
  }
  void join() { thread_.join(); }

 private:
  std::atomic<pid_t> number_{0};
  std::thread thread_;
};

// Other threads keep deferring tasks before their earlier ones are done, so some task is always
// left.
TEST(Reclaimer, ADrainWaitsOnlyForTasksDeferredBeforeIt) {
  drain_deferred();
  std::atomic<int> left{0};
  std::atomic<int> asked{0};
  std::atomic<bool> stop{false};
  std::thread leaves{[&] {
    for (int mine = 1; !stop; ++mine) {
      defer([&, mine]() noexcept { return asked = mine, done_if(left > mine || stop); });
      left = mine;
      while (asked < mine && !stop) std::this_thread::yield();
    }
  }};
  while (left < 2) std::this_thread::yield();
  for (int i = 0; i < 20; ++i) drain_deferred();
  EXPECT_GE(deferred_count(), 1U);
  stop = true;
  leaves.join();
  drain_deferred();
  EXPECT_EQ(deferred_count(), 0U);
}

// A drain does not wait for later tasks either while an earlier one is still running.
TEST(Reclaimer, ADrainDoesNotWaitForTasksDeferredAfterItBegan) {
  drain_deferred();
  long_task before;
  background_drain drain;
  std::atomic<bool> allowed{false};
  defer([&]() noexcept { return done_if(allowed); });
  before.end();
  drain.join();
  EXPECT_EQ(deferred_count(), 1U);
  allowed = true;
  drain_deferred();
  EXPECT_EQ(deferred_count(), 0U);
}

// Signal handlers of the program run on its own threads.
TEST(Reclaimer, TheReclaimerThreadBlocksSignals) {
  std::atomic<int> blocked{-1};
  defer([&]() noexcept {
    sigset_t mask;
    blocked = pthread_sigmask(SIG_BLOCK, nullptr, &mask) == 0 ? sigismember(&mask, SIGTERM) : 0;
    return task_result::done;
  });
  drain_deferred();
  EXPECT_EQ(blocked, 1);
}

// A fork handler of the program may be the first to defer a task, while weir's locks are taken for
// the fork. This handler runs then, as it was installed before weir's.
std::atomic<bool> forks_leave{false};
std::atomic<bool> left_by_fork_is_done{false};
const bool before_forks =
    pthread_atfork(
        [] {
          if (!forks_leave) return;
          defer([]() noexcept { return left_by_fork_is_done = true, task_result::done; });
        },
        nullptr, nullptr) == 0;

TEST(Reclaimer, TheReclaimerThreadCanStartDuringAFork) {
  ASSERT_TRUE(before_forks);
  test::in_a_fresh_process([] {
    alarm(30);
    static_cast<void>(device::count());  // installs weir's fork handlers
    forks_leave = true;
    const pid_t child = fork();
    if (child == 0) _exit(0);
    drain_deferred();
    return WEIR_HOLDS(child > 0 && waitpid(child, nullptr, 0) == child) &&
           WEIR_HOLDS(left_by_fork_is_done.load());
  });
}

// Tasks that a task defers belong to it, however late they are deferred and however long they take.
TEST(Reclaimer, ADrainWaitsForTasksThatDeferredTasksDefer) {
  drain_deferred();
  std::atomic<bool> leaves{false};
  std::atomic<bool> allowed{false};
  std::atomic<bool> asked{false};
  defer([&]() noexcept {
    if (!leaves) return task_result::busy;
    defer([&]() noexcept {
      defer([&]() noexcept { return asked = true, done_if(allowed); });
      return task_result::done;
    });
    return task_result::done;
  });
  background_drain drain;
  leaves = true;
  while (!asked) std::this_thread::yield();
  EXPECT_EQ(deferred_count(), 1U);
  allowed = true;
  drain.join();
  EXPECT_EQ(deferred_count(), 0U);
}

// A task that waits for a capture does not delay the drain and does not make it wait for later
// tasks.
TEST(Reclaimer, ADrainDuringACaptureWaitsOnlyForEarlierTasks) {
  drain_deferred();
  std::optional<detail::scoped_active_capture> capture{std::in_place};
  defer([]() noexcept {
    return detail::active_capture_count != 0 ? task_result::capture_active : task_result::done;
  });
  drain_deferred();
  long_task before;
  background_drain drain;
  std::atomic<bool> may_end{false};
  defer([&]() noexcept {
    while (!may_end) std::this_thread::yield();  // occupies the reclaimer
    return task_result::done;
  });
  before.end();
  drain.join();
  EXPECT_EQ(deferred_count(), 2U);
  may_end = true;
  capture.reset();
  drain_deferred();
  EXPECT_EQ(deferred_count(), 0U);
}

// A driver that waits for its device may block all other calls. Destructors do not wait for it, and
// close() does.
TEST(Reclaimer, DestructorsDoNotWaitForABlockedReclaimerCall) {
  const device gpu;
  std::optional<stream> dropped{std::in_place, gpu};
  stream closed{gpu};
  std::optional<event> mark{gpu};
  drain_deferred();
  const detail::fault_table calls;
  std::atomic<bool> under_way{false};
  std::atomic<bool> answered{false};
  defer([&]() noexcept {
    const detail::device_wait_guard waits;
    under_way = true;
    while (!answered) std::this_thread::yield();
    return task_result::done;
  });
  while (!under_way) std::this_thread::yield();
  dropped.reset();
  mark.reset();
  closed.close();
  EXPECT_EQ(calls.count(&detail::driver_table::cuStreamDestroy_v2), 1);
  EXPECT_EQ(calls.count(&detail::driver_table::cuEventDestroy_v2), 0);
  answered = true;
  drain_deferred();
  EXPECT_EQ(calls.count(&detail::driver_table::cuStreamDestroy_v2), 2);
  EXPECT_EQ(calls.count(&detail::driver_table::cuEventDestroy_v2), 1);
}

}  // namespace
}  // namespace weir
