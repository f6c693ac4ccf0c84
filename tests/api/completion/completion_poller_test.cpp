// SPDX-License-Identifier: Apache-2.0
// completion_poller_test.cpp - threads that poll completions, and threads that wait beside them.
#include <weir/completion/completion.hpp>
#include <weir/completion/future.hpp>
#include <weir/completion/reactor.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>
#include <weir/completion/when.hpp>
#include <weir/core/sync_guard.hpp>
#include <weir/device/device.hpp>
#include <weir/event/event.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "support/completion_modes.hpp"
#include "support/detached.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using test::detached;
using test::gate;

class CompletionPoller : public test::completion_modes {};
INSTANTIATE_TEST_SUITE_P(Ways, CompletionPoller, ::testing::Values(false, true),
                         test::name_of_mode);

// Opens a gate after 2 ms, when the waiting thread is most likely asleep.
class late_opener {
 public:
  explicit late_opener(gate& held)
      : thread_{[&held] {
          const auto then = std::chrono::steady_clock::now() + 2ms;
          while (std::chrono::steady_clock::now() < then) std::this_thread::yield();
          held.open();
        }} {}

 private:
  std::jthread thread_;
};

// No other thread polls meanwhile, so the waiting thread must poll and not only sleep.
TEST_P(CompletionPoller, AThreadWithAPollerCanWait) {
  const completion_poller poller{gpu};
  {
    gate held{s};
    const completion c = s.completion();
    const late_opener opens{held};
    c.wait();
  }
  gate held{s};
  const completion c = s.completion();
  const late_opener opens{held};
  EXPECT_TRUE(c.wait_for(1h));
}

TEST_P(CompletionPoller, AnotherThreadCanWaitWhileThePollerDoesNotPoll) {
  const completion_poller poller{gpu};
  gate held{s};
  const completion c = s.completion();
  std::jthread waits{[&] { c.wait(); }};
  held.open();
  waits.join();
}

detached await_and_record_thread(completion awaited, std::thread::id& where,
                                 std::atomic<bool>& done) {
  co_await awaited;
  where = std::this_thread::get_id();
  done = true;
}

TEST_P(CompletionPoller, APollingLoopResumesOnItsOwnThread) {
  completion_poller poller{gpu};
  gate held{s};
  const completion c = s.completion();
  std::thread::id there;
  std::atomic<bool> resumed{false};
  await_and_record_thread(c, there, resumed);
  EXPECT_EQ(poller.poll(), 0U);
  held.open();
  while (!resumed) poller.poll();
  EXPECT_TRUE(c.done());
  EXPECT_EQ(there, std::this_thread::get_id());
}

// A continuation for an executor that runs inline: only threads that may run the program's code may
// call it.
task<void> resumed_by_any_poller(completion c) {
  co_await c.resume_on([](continuation work) { work(); });
}

TEST_P(CompletionPoller, APollingThreadResumesWhatItBlocksFor) {
  completion_poller poller{gpu};
  gate held{s};
  std::jthread polls{[&] {
    poller.poll();
    const late_opener opens{held};
    sync_wait(resumed_by_any_poller(s.completion()));
  }};
}

TEST_P(CompletionPoller, APollerCanBeDestroyedOnAnotherThread) {
  auto poller = std::make_unique<completion_poller>(gpu);
  const auto wait_for_what_is_to_be_resumed = [&] {
    gate held{s};
    const late_opener opens{held};
    sync_wait(resumed_by_any_poller(s.completion()));
  };
  std::jthread{[&] {
    poller.reset();
    poller = std::make_unique<completion_poller>(gpu);
    wait_for_what_is_to_be_resumed();
    poller.reset();
    wait_for_what_is_to_be_resumed();
  }}.join();
  wait_for_what_is_to_be_resumed();
  poller = std::make_unique<completion_poller>(gpu);
  wait_for_what_is_to_be_resumed();
}

detached then_open(completion awaited, gate& held) {
  co_await awaited;
  held.open();
}

// The wait, of any kind, ends only after another coroutine has been resumed on this thread.
TEST_P(CompletionPoller, AThreadInSyncWaitResumesOtherCoroutines) {
  const stream t{gpu};
  const completion_poller poller{gpu};
  const auto waits_for_another = [&](const auto& wait) {
    gate first{s};
    gate second{t};
    then_open(s.completion(), second);
    const late_opener opens{first};
    wait();
  };
  waits_for_another([&] { sync_wait(t.completion()); });
  waits_for_another([&] { sync_wait(t.enqueue([] {})); });
  waits_for_another([&] { sync_wait(t.enqueue([] { return 1; })); });
  waits_for_another([&] { sync_wait(when_all(t.completion(), t.completion())); });
}

// The guard reports one wait, and the exception is that of the work.
TEST_P(CompletionPoller, SyncWaitOfACompletionIsReportedAsOneWait) {
  const completion_poller poller{gpu};
  launch_host(s, [] { throw std::runtime_error{"thrown in a host function"}; });
  const sync_guard watch{sync_rule::reported};
  EXPECT_THROW(sync_wait(s.completion()), std::runtime_error);
  ASSERT_EQ(watch.waits().size(), 1U);
  EXPECT_EQ(watch.waits().front().times, 1U);
}

class CompletionPollerOfTwoDevices : public CompletionPoller {
 protected:
  void SetUp() override {
    if (device::count() < 2) GTEST_SKIP() << "one device";
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, CompletionPollerOfTwoDevices, ::testing::Values(false, true),
                         test::name_of_mode);

TEST_P(CompletionPollerOfTwoDevices, ABlockedThreadPollsBothItsDevices) {
  const device other{1};
  const stream t{other};
  const completion_poller first{gpu};
  const completion_poller second{other};
  for (const stream_ref each : {s.ref(), t.ref()}) {
    gate held{each};
    const late_opener opens{held};
    sync_wait(resumed_by_any_poller(each.completion()));
  }
}

TEST_P(CompletionPollerOfTwoDevices, APollerKeepsWorkingAfterAnotherPollerEnds) {
  const completion_poller lasts{gpu};
  { const completion_poller ends{device{1}}; }
  gate held{s};
  const late_opener opens{held};
  sync_wait(resumed_by_any_poller(s.completion()));
}

TEST_P(CompletionPollerOfTwoDevices, AnEventIsPolledOnItsOwnDevice) {
  const device other{1};
  const stream t{other};
  completion_poller poller{other};
  gate held{t};
  const event e = t.record();
  std::thread::id there;
  std::atomic<bool> resumed{false};
  await_and_record_thread(e.completion(), there, resumed);
  held.open();
  while (!resumed) poller.poll();
  EXPECT_EQ(there, std::this_thread::get_id());
}

TEST(ReactorPoller, APollerOfAMissingDeviceIsRefused) {
  const device missing{device::count()};
  EXPECT_EQ(test::result_of([&] { const completion_poller poller{missing}; }),
            errc::invalid_device);
  EXPECT_EQ(test::result_of([&] { poll_completions(missing); }), errc::invalid_device);
}

TEST(ReactorPoller, PollingInAHostFunctionDoesNothing) {
  const device gpu;
  const stream s{gpu};
  completion_poller poller{gpu};
  errc made = errc::success;
  std::size_t told = 1;
  launch_host(s, [&] {
    made = test::result_of([&] { const completion_poller another{gpu}; });
    told = poller.poll() + poll_completions(gpu);
  });
  s.sync();
  EXPECT_EQ(made, errc::not_permitted);
  EXPECT_EQ(told, 0U);
}

}  // namespace
}  // namespace weir
