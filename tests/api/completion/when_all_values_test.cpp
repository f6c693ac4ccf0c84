// SPDX-License-Identifier: Apache-2.0
// when_all_values_test.cpp - one wait for several futures and tasks that returns their values.
#include <weir/completion/completion.hpp>
#include <weir/completion/future.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>
#include <weir/completion/when.hpp>
#include <weir/completion/when_all_values.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/completion_modes.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::gate;
using test::result_of;

template <class... All>
concept can_when_all = requires(All&&... all) {
  when_all(std::forward<All>(all)...);
};
static_assert(can_when_all<task<int>, task<>> &&
              can_when_all<future<int>, future<void>, future<std::string>>);
static_assert(can_when_all<completion, future<int>&, future<void>> &&
              can_when_all<future<void>, completion&>);
static_assert(!can_when_all<task<int>&> && !can_when_all<task<>, completion> &&
              !can_when_all<future<int>&, task<int>>);
static_assert(!can_when_all<future<int>, completion> && !can_when_all<future<int>&, future<int>>,
              "a value would be lost");
static_assert(can_when_all<std::vector<task<int>>> && !can_when_all<std::vector<task<int>>&>);
static_assert(can_when_all<std::vector<future<int>>> && can_when_all<std::vector<future<int>>&>);

class WhenAllValues : public test::completion_modes {
 protected:
  stream t{gpu};
};
INSTANTIATE_TEST_SUITE_P(Ways, WhenAllValues, ::testing::Values(false, true), test::name_of_mode);

TEST_P(WhenAllValues, WhenAllReturnsTheValuesOfMovedFutures) {
  gate held{s};
  future<int> a = s.enqueue([] { return 1; });
  future<std::string> c = t.enqueue([] { return std::string{"two"}; });
  held.open();
  const std::tuple<int, std::string> both =
      sync_wait(when_all(std::move(a), t.enqueue([] {}), std::move(c)));
  EXPECT_EQ(both, (std::tuple{1, std::string{"two"}}));
  std::vector<future<int>> many;
  many.reserve(5);
  for (int i = 0; i < 5; ++i) many.push_back((i % 2 == 0 ? s : t).enqueue([i] { return i; }));
  EXPECT_EQ(sync_wait(when_all(std::move(many))), (std::vector{0, 1, 2, 3, 4}));
}

task<int> number_after(stream_ref s, int number) {
  co_await s.completion();
  co_return number;
}

TEST_P(WhenAllValues, WhenAllRunsItsTasksConcurrently) {
  gate first{s};
  gate second{t};
  std::atomic<int> begun{0};
  const auto part = [&](stream_ref of, gate& opens_other) -> task<int> {
    ++begun;
    if (begun == 2) opens_other.open();
    co_await of.completion();
    opens_other.open();
    co_return 3;
  };
  const auto [a, b] = sync_wait(when_all(part(s, second), part(t, first)));
  EXPECT_EQ(a + b, 6);
  EXPECT_EQ(begun, 2);
}

TEST_P(WhenAllValues, WhenAllAcceptsAnyNumberOfTasks) {
  std::vector<task<int>> many;
  many.reserve(50);
  for (int i = 0; i < 50; ++i) many.push_back(number_after(i % 3 == 0 ? s : t, i));
  const std::vector<int> numbers = sync_wait(when_all(std::move(many)));
  ASSERT_EQ(numbers.size(), 50U);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(numbers[i], i);
  EXPECT_TRUE(sync_wait(when_all(std::vector<task<int>>{})).empty());
  std::vector<task<>> without;
  without.reserve(5);
  int count = 0;
  for (int i = 0; i < 5; ++i) {
    without.push_back([](int& counted) -> task<> {
      ++counted;
      co_return;
    }(count));
  }
  sync_wait(when_all(std::move(without)));
  EXPECT_EQ(count, 5);
}

TEST_P(WhenAllValues, ATaskThatThrowsDoesNotEndOtherTasks) {
  bool other_ended = false;
  const auto fails = []() -> task<int> {
    throw std::runtime_error{"one of several"};
    co_return 0;
  };
  const auto ends = [&](stream_ref of) -> task<> {
    co_await of.completion();
    other_ended = true;
  };
  EXPECT_THROW(static_cast<void>(sync_wait(when_all(fails(), ends(s)))), std::runtime_error);
  EXPECT_TRUE(other_ended);
}

TEST_P(WhenAllValues, NoTaskBeginsIfOneOfThemCannotBegin) {
  bool begun = false;
  const auto begins = [&]() -> task<> {
    begun = true;
    co_return;
  };
  task<> used = begins();
  sync_wait(std::move(used));
  begun = false;
  EXPECT_EQ(result_of([&] { sync_wait(when_all(begins(), std::move(used))); }), errc::closed);
  EXPECT_FALSE(begun);
}

TEST_P(WhenAllValues, WhenAllRethrowsTheFirstExceptionInArgumentOrder) {
  const auto fails = [](const char* with) -> task<int> {
    throw std::runtime_error{with};
    co_return 0;
  };
  try {
    static_cast<void>(sync_wait(when_all(fails("first"), fails("second"))));
    FAIL();
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "first");
  }
}

TEST_P(WhenAllValues, WhenAllAcceptsAVectorOfFutures) {
  std::vector<future<void>> without;
  without.push_back(s.enqueue([] {}));
  sync_wait(when_all(std::move(without)));
  std::vector<future<int>> kept;
  kept.push_back(t.enqueue([] { return 4; }));
  sync_wait(when_all(kept));
  EXPECT_LT(sync_wait(when_any(kept)), kept.size());
  EXPECT_EQ(kept.front().get(), 4);
}

}  // namespace
}  // namespace weir
