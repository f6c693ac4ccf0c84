// completion_drive_test.cpp - loops of the program that poll, and threads that wait beside them.
#include <weir/core/allow_sync.hpp>
#include <weir/completion/completion.hpp>
#include <weir/device/device.hpp>
#include <weir/event/event.hpp>
#include <weir/completion/future.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/completion/reactor.hpp>
#include <weir/stream/stream.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>
#include <weir/completion/when.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>

#include "support/completion_ways.hpp"
#include "support/detached.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using test::detached;
using test::gate;

class CompletionDrive : public test::completion_ways {};
INSTANTIATE_TEST_SUITE_P(Ways, CompletionDrive, ::testing::Values(false, true), test::name_of_way);

// Opens a gate once whoever waits has gone to sleep, most likely.
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

// Nobody else drives then; whoever does may not rely on being woken.
TEST_P(CompletionDrive, AThreadThatDrivesMayWait) {
  const reactor_drive drive{gpu};
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

TEST_P(CompletionDrive, AnotherThreadMayWaitWhileNobodyPolls) {
  const reactor_drive drive{gpu};
  gate held{s};
  const completion c = s.completion();
  std::jthread waits{[&] { c.wait(); }};
  held.open();
  waits.join();
}

detached await_and_note(completion awaited, std::thread::id& where, std::atomic<bool>& done) {
  co_await awaited;
  where = std::this_thread::get_id();
  done = true;
}

TEST_P(CompletionDrive, APollingLoopResumesHere) {
  reactor_drive drive{gpu};
  gate held{s};
  const completion c = s.completion();
  std::thread::id there;
  std::atomic<bool> resumed{false};
  await_and_note(c, there, resumed);
  EXPECT_EQ(drive.poll(), 0U);
  held.open();
  while (!resumed) drive.poll();
  EXPECT_TRUE(c.done());
  EXPECT_EQ(there, std::this_thread::get_id());
}

// Told by those only who may run the program's code, although the thread itself is in sync_wait().
task<void> resumed_by_whoever_drives(completion c) {
  co_await c.on([](continuation go_on) { go_on(); });
}

TEST_P(CompletionDrive, AThreadThatPollsMayBlockForWhatItIsToResume) {
  reactor_drive drive{gpu};
  gate held{s};
  std::jthread polls{[&] {
    drive.poll();
    const late_opener opens{held};
    sync_wait(resumed_by_whoever_drives(s.completion()));
  }};
}

TEST_P(CompletionDrive, MayEndOnAnotherThread) {
  auto drive = std::make_unique<reactor_drive>(gpu);
  const auto wait_for_what_is_to_be_resumed = [&] {
    gate held{s};
    const late_opener opens{held};
    sync_wait(resumed_by_whoever_drives(s.completion()));
  };
  std::jthread{[&] {
    drive.reset();
    drive = std::make_unique<reactor_drive>(gpu);
    wait_for_what_is_to_be_resumed();
    drive.reset();
    wait_for_what_is_to_be_resumed();
  }}.join();
  wait_for_what_is_to_be_resumed();
  drive = std::make_unique<reactor_drive>(gpu);
  wait_for_what_is_to_be_resumed();
}

detached then_open(completion awaited, gate& held) {
  co_await awaited;
  held.open();
}

// Of whatever it is: what is awaited here ends only when something else has been resumed here.
TEST_P(CompletionDrive, AThreadInSyncWaitResumesOthers) {
  const stream t{gpu};
  const reactor_drive drive{gpu};
  const auto waits_for_another = [&](const auto& wait) {
    gate first{s};
    gate second{t};
    then_open(s.completion(), second);
    const late_opener opens{first};
    wait();
  };
  waits_for_another([&] { sync_wait(t.completion()); });
  waits_for_another([&] { sync_wait(t.enqueue_async([] {})); });
  waits_for_another([&] { sync_wait(t.enqueue_async([] { return 1; })); });
  waits_for_another([&] { sync_wait(when_all(t.completion(), t.completion())); });
}

// One wait for who asks, and the failure is that of the work.
TEST_P(CompletionDrive, SyncWaitOfACompletionIsOneWait) {
  const reactor_drive drive{gpu};
  launch_host(s, [] { throw std::runtime_error{"thrown in a host function"}; });
  const allow_sync watch{syncs::reported};
  EXPECT_THROW(sync_wait(s.completion()), std::runtime_error);
  ASSERT_EQ(watch.seen().size(), 1U);
  EXPECT_EQ(watch.seen().front().times, 1U);
}

class CompletionDriveOfTwo : public CompletionDrive {
 protected:
  void SetUp() override {
    if (device::count() < 2) GTEST_SKIP() << "one device";
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, CompletionDriveOfTwo, ::testing::Values(false, true), test::name_of_way);

TEST_P(CompletionDriveOfTwo, AThreadDrivesBothWhereItBlocks) {
  const device other{1};
  const stream t{other};
  const reactor_drive first{gpu};
  const reactor_drive second{other};
  for (const stream_ref each : {s.ref(), t.ref()}) {
    gate held{each};
    const late_opener opens{held};
    sync_wait(resumed_by_whoever_drives(each.completion()));
  }
}

TEST_P(CompletionDriveOfTwo, OneMayEndBeforeTheOther) {
  const reactor_drive lasts{gpu};
  { const reactor_drive ends{device{1}}; }
  gate held{s};
  const late_opener opens{held};
  sync_wait(resumed_by_whoever_drives(s.completion()));
}

TEST_P(CompletionDriveOfTwo, AnEventIsItsOwnDevices) {
  const device other{1};
  const stream t{other};
  reactor_drive drive{other};
  gate held{t};
  const event e = t.record();
  std::thread::id there;
  std::atomic<bool> resumed{false};
  await_and_note(e.completion(), there, resumed);
  held.open();
  while (!resumed) drive.poll();
  EXPECT_EQ(there, std::this_thread::get_id());
}

TEST(ReactorDrive, OfADeviceThatIsNotThereIsRefused) {
  const device missing{device::count()};
  EXPECT_EQ(test::result_of([&] { const reactor_drive drive{missing}; }), errc::invalid_device);
  EXPECT_EQ(test::result_of([&] { poll_completions(missing); }), errc::invalid_device);
}

TEST(ReactorDrive, NothingIsAskedInAHostFunction) {
  const device gpu;
  const stream s{gpu};
  reactor_drive drive{gpu};
  errc made = errc::success;
  std::size_t told = 1;
  launch_host(s, [&] {
    made = test::result_of([&] { const reactor_drive another{gpu}; });
    told = drive.poll() + poll_completions(gpu);
  });
  s.sync();
  EXPECT_EQ(made, errc::not_permitted);
  EXPECT_EQ(told, 0U);
}

}  // namespace
}  // namespace weir
