// SPDX-License-Identifier: Apache-2.0
// task_test.cpp - coroutines that return values.
#include <weir/completion/awaitable.hpp>
#include <weir/completion/completion.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>

#include <concepts>
#include <coroutine>
#include <memory>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

#include "support/errors.hpp"

namespace weir {
namespace {

using test::result_of;

static_assert(awaitable<completion> && awaitable<task<int>> && awaitable<std::suspend_never>);
static_assert(!awaitable<task<int>&> && !awaitable<const task<int>&> && !awaitable<int>);
static_assert(std::same_as<await_result_t<task<int>>, int>);
static_assert(std::same_as<await_result_t<task<int&>>, int&>);
static_assert(std::same_as<await_result_t<const completion&>, void>);
static_assert(!std::copy_constructible<task<int>> && std::movable<task<int>>);

task<int> give(int value) { co_return value; }

TEST(Task, ATaskReturnsItsValue) {
  EXPECT_EQ(sync_wait(give(7)), 7);
  EXPECT_EQ(
      *sync_wait([]() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(8); }()), 8);
  int there = 9;
  int& same = sync_wait([&]() -> task<int&> { co_return there; }());
  EXPECT_EQ(&same, &there);
  sync_wait([&]() -> task<> {
    there = co_await give(10);
    co_return;
  }());
  EXPECT_EQ(there, 10);
}

TEST(Task, ATaskRethrowsItsException) {
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

TEST(Task, ATaskBeginsWhenItIsAwaited) {
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

TEST(Task, AMovedFromTaskIsClosed) {
  task<int> first = give(1);
  task<int> second = std::move(first);
  // NOLINTNEXTLINE(bugprone-use-after-move): that is what is tested
  EXPECT_EQ(result_of([&] { static_cast<void>(sync_wait(std::move(first))); }), errc::closed);
  first = std::move(second);
  EXPECT_EQ(sync_wait(std::move(first)), 1);
}

TEST(Task, ATaskCanBeAwaitedOnlyOnce) {
  task<int> once = give(1);
  EXPECT_EQ(sync_wait(std::move(once)), 1);
  // NOLINTNEXTLINE(bugprone-use-after-move): that is what is tested
  const auto failure = test::failure_of([&] { static_cast<void>(sync_wait(std::move(once))); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::closed);
  EXPECT_EQ(failure->hint(), "the task was awaited before or moved from; await each task once");
}

TEST(Task, ATaskDestroysItsParameters) {
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

// An await that does not suspend uses no stack space, also in builds without optimisation.
TEST(Task, ALongLoopOfAwaitsDoesNotGrowTheStack) {
  const auto all = []() -> task<long> {
    long sum = 0;
    for (int i = 0; i < 300'000; ++i) sum += co_await give(1);
    co_return sum;
  };
  EXPECT_EQ(sync_wait(all()), 300'000);
}

TEST(Task, TasksCanBeNestedDeeply) {
  struct nested {
    static task<int> depth(int levels) {
      if (levels == 0) co_return 0;
      co_return 1 + co_await depth(levels - 1);
    }
  };
  EXPECT_EQ(sync_wait(nested::depth(2'000)), 2'000);
}

}  // namespace
}  // namespace weir
