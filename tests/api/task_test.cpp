// task_test.cpp - coroutines that give values, and threads that block for them.
#include <weir/allow_sync.hpp>
#include <weir/awaitable.hpp>
#include <weir/capture.hpp>
#include <weir/completion.hpp>
#include <weir/device.hpp>
#include <weir/fill.hpp>
#include <weir/graph.hpp>
#include <weir/host_function.hpp>
#include <weir/pinned_buffer.hpp>
#include <weir/resume_on.hpp>
#include <weir/stream.hpp>
#include <weir/sync_wait.hpp>
#include <weir/task.hpp>

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/completion_ways.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::gate;
using test::result_of;

static_assert(awaitable<completion> && awaitable<task<int>> && awaitable<std::suspend_never>);
static_assert(!awaitable<task<int>&> && !awaitable<int>);
static_assert(std::same_as<await_result_t<task<int>>, int>);
static_assert(std::same_as<await_result_t<task<int&>>, int&>);
static_assert(std::same_as<await_result_t<const completion&>, void>);
static_assert(!std::copy_constructible<task<int>> && std::movable<task<int>>);

task<int> give(int value) { co_return value; }

TEST(Task, GivesWhatItReturns) {
  EXPECT_EQ(sync_wait(give(7)), 7);
  EXPECT_EQ(*sync_wait([]() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(8); }()), 8);
  int there = 9;
  int& same = sync_wait([&]() -> task<int&> { co_return there; }());
  EXPECT_EQ(&same, &there);
  sync_wait([&]() -> task<> {
    there = co_await give(10);
    co_return;
  }());
  EXPECT_EQ(there, 10);
}

TEST(Task, ThrowsWhatItThrows) {
  const auto fails = []() -> task<int> {
    throw std::runtime_error{"in a task"};
    co_return 1;
  };
  EXPECT_THROW(static_cast<void>(sync_wait(fails())), std::runtime_error);
  bool caught = false;
  sync_wait([&]() -> task<> {
    try {
      static_cast<void>(co_await fails());
    } catch (const std::runtime_error&) {
      caught = true;
    }
  }());
  EXPECT_TRUE(caught);
}

TEST(Task, BeginsWhenItIsAwaited) {
  int begun = 0;
  const auto count = [&]() -> task<> {
    ++begun;
    co_return;
  };
  { const task<> never = count(); }
  EXPECT_EQ(begun, 0);
  task<> later = count();
  EXPECT_EQ(begun, 0);
  sync_wait(std::move(later));
  EXPECT_EQ(begun, 1);
}

TEST(Task, OneThatWasMovedFromIsClosed) {
  task<int> first = give(1);
  task<int> second = std::move(first);
  // NOLINTNEXTLINE(bugprone-use-after-move): that is what is tested
  EXPECT_EQ(result_of([&] { static_cast<void>(sync_wait(std::move(first))); }), errc::closed);
  first = std::move(second);
  EXPECT_EQ(sync_wait(std::move(first)), 1);
}

TEST(Task, IsAwaitedOnce) {
  task<int> once = give(1);
  EXPECT_EQ(sync_wait(std::move(once)), 1);
  // NOLINTNEXTLINE(bugprone-use-after-move): that is what is tested
  EXPECT_EQ(result_of([&] { static_cast<void>(sync_wait(std::move(once))); }), errc::closed);
}

TEST(Task, DestroysWhatItHolds) {
  const auto held = std::make_shared<int>(1);
  const auto holds = [](std::shared_ptr<int> what) -> task<int> { co_return *what; };
  {
    const task<int> never = holds(held);
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(sync_wait(holds(held)), 1);
  EXPECT_EQ(held.use_count(), 1);
}

// One that does not suspend leaves the stack as it was, in builds without optimisation, too.
TEST(Task, LoopsOfAnyLength) {
  const auto all = []() -> task<long> {
    long sum = 0;
    for (int i = 0; i < 300'000; ++i) sum += co_await give(1);
    co_return sum;
  };
  EXPECT_EQ(sync_wait(all()), 300'000);
}

TEST(Task, NestAsFunctionsDo) {
  struct nested {
    static task<int> depth(int levels) {
      if (levels == 0) co_return 0;
      co_return 1 + co_await depth(levels - 1);
    }
  };
  EXPECT_EQ(sync_wait(nested::depth(2'000)), 2'000);
}

class SyncWait : public test::completion_ways {};
INSTANTIATE_TEST_SUITE_P(Ways, SyncWait, ::testing::Values(false, true), test::name_of_way);

task<int> read_after(stream_ref s, pinned_buffer<int>& x) {
  co_await s.completion();
  co_return x.data()[0];
}

TEST_P(SyncWait, BlocksUntilTheWorkIsDone) {
  pinned_buffer<int> x{1};
  x.data()[0] = 0;
  gate held{s};
  fill(s, x, 5);
  const std::jthread opens{[&] { held.open(); }};
  EXPECT_EQ(sync_wait(read_after(s, x)), 5);
}

TEST_P(SyncWait, ResumesOnItsOwnThread) {
  gate held{s};
  std::thread::id resumed;
  const auto body = [&]() -> task<> {
    co_await s.completion();
    resumed = std::this_thread::get_id();
  };
  const std::jthread opens{[&] { held.open(); }};
  sync_wait(body());
  EXPECT_EQ(resumed, std::this_thread::get_id());
}

TEST_P(SyncWait, OfACompletionIsItsWait) {
  gate held{s};
  const completion c = s.completion();
  const std::jthread opens{[&] { held.open(); }};
  sync_wait(c);
  EXPECT_TRUE(c.done());
  sync_wait(s.completion());
  sync_wait(completion{});
}

TEST_P(SyncWait, ManyWaitsOneAfterTheOther) {
  pinned_buffer<int> x{1};
  x.data()[0] = 0;
  const auto body = [&]() -> task<int> {
    int sum = 0;
    for (int i = 1; i <= 100; ++i) {
      fill(s, x, i);
      sum += co_await read_after(s, x);
    }
    co_return sum;
  };
  EXPECT_EQ(sync_wait(body()), 5050);
}

TEST_P(SyncWait, NestsInWhatItResumes) {
  stream t{gpu};
  pinned_buffer<int> x{1};
  gate held{s};
  const auto outer = [&]() -> task<int> {
    co_await s.completion();
    fill(t, x, 3);
    co_return sync_wait(read_after(t, x));
  };
  const std::jthread opens{[&] { held.open(); }};
  EXPECT_EQ(sync_wait(outer()), 3);
}

TEST_P(SyncWait, OnSeveralThreadsAtATime) {
  gate held{s};
  std::vector<std::jthread> threads;
  threads.reserve(6);
  std::atomic<int> ended{0};
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      sync_wait([](stream_ref of) -> task<> { co_await of.completion(); }(s));
      ++ended;
    });
  }
  held.open();
  threads.clear();
  EXPECT_EQ(ended, 6);
}

TEST_P(SyncWait, GoesOnElsewhereAndComesBack) {
  std::promise<continuation> given;
  std::future<continuation> taken = given.get_future();
  const auto elsewhere = [&](continuation c) { given.set_value(c); };
  std::thread::id resumed;
  std::jthread other{[&] { taken.get()(); }};
  const std::thread::id others = other.get_id();
  sync_wait([&]() -> task<> {
    co_await resume_on(elsewhere);
    resumed = std::this_thread::get_id();
    co_await s.completion();
  }());
  EXPECT_EQ(resumed, others);
}

TEST_P(SyncWait, AnExecutorThatThrowsLosesNothing) {
  const std::thread::id resumed = sync_wait([]() -> task<std::thread::id> {
    co_await resume_on([](continuation) { throw std::runtime_error{"full"}; });
    co_return std::this_thread::get_id();
  }());
  EXPECT_EQ(resumed, std::this_thread::get_id());
}

TEST_P(SyncWait, ThrowsWhatAHostFunctionHasThrown) {
  gate held{s};
  launch_host(s, [] { throw std::runtime_error{"thrown in a host function"}; });
  const std::jthread opens{[&] { held.open(); }};
  EXPECT_THROW(sync_wait([](stream_ref of) -> task<> { co_await of.completion(); }(s)), std::runtime_error);
}

TEST_P(SyncWait, IsRefusedWhereWaitsAre) {
  bool begun = false;
  const auto body = [&]() -> task<> {
    begun = true;
    co_return;
  };
  const allow_sync none{false};
  EXPECT_EQ(result_of([&] { sync_wait(body()); }), errc::not_permitted);
  EXPECT_FALSE(begun);
}

TEST_P(SyncWait, IsRefusedInAHostFunction) {
  errc answer = errc::success;
  launch_host(s, [&] { answer = result_of([] { sync_wait(give(1)); }); });
  s.sync();
  EXPECT_EQ(answer, errc::not_permitted);
}

// On a thread of the reactor's, which is the only one to hand what an executor waits for on.
TEST_P(SyncWait, InAContinuationOfTheReactors) {
  stream t{gpu};
  gate first{s};
  std::promise<int> answer;
  std::future<int> told = answer.get_future();
  s.completion().then([&t, &answer] {
    answer.set_value(sync_wait([](stream_ref of) -> task<int> {
      gate held{of};
      const completion c = of.completion();
      const std::jthread opens{[&held] { held.open(); }};
      co_await c.on([](continuation rest) { rest(); });
      co_return 7;
    }(t)));
  });
  first.open();
  EXPECT_EQ(told.get(), 7);
}

TEST_P(SyncWait, HarmsNoCaptureThatItsCoroutineBegins) {
  stream t{gpu};
  pinned_buffer<int> x{1};
  const std::size_t nodes =
      sync_wait([](stream_ref captured, stream_ref other, pinned_buffer<int>& to) -> task<std::size_t> {
        gate held{other};
        const completion c = other.completion();
        const std::jthread opens{[&held] { held.open(); }};
        begin_capture(captured, capture_options{.mode = capture_mode::global});
        co_await c;
        fill(captured, to, 1);
        co_return end_capture(captured).nodes().size();
      }(s, t, x));
  EXPECT_EQ(nodes, 1U);
}

TEST_P(SyncWait, HarmsNoCaptureOfItsThread) {
  stream t{gpu};
  gate held{t};
  const completion c = t.completion();
  begin_capture(s, capture_options{.mode = capture_mode::global});
  const std::jthread opens{[&] { held.open(); }};
  sync_wait([&]() -> task<> { co_await c; }());
  EXPECT_TRUE(c.done());
  static_cast<void>(end_capture(s));
}

}  // namespace
}  // namespace weir
