// SPDX-License-Identifier: Apache-2.0
// when_test.cpp - one wait for several completions.
#include <weir/completion/completion.hpp>
#include <weir/completion/future.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>
#include <weir/completion/when.hpp>
#include <weir/completion/when_all_values.hpp>
#include <weir/device/device.hpp>
#include <weir/event/event.hpp>
#include <weir/stream/stream.hpp>

#include <array>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/completion_modes.hpp"
#include "support/detached.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::detached;
using test::gate;
using test::result_of;
using namespace std::chrono_literals;

template <class... C>
concept can_when_any = requires(C&&... c) {
  when_any(std::forward<C>(c)...);
};
static_assert(can_when_any<completion, const completion&, future<int>&, future<void>>);
static_assert(!can_when_any<future<int>> && !can_when_any<int>, "its value would be lost");
static_assert(!can_when_any<future<int>, completion> &&
              !can_when_any<completion, future<int>, future<int>&>);
static_assert(!can_when_any<task<int>> && !can_when_any<task<>, completion&> &&
                  !can_when_any<future<void>, task<>>,
              "what has begun cannot be left alone");
static_assert(can_when_any<std::vector<future<int>>&> && !can_when_any<std::vector<task<int>>>);

class When : public test::completion_modes {
 protected:
  stream t{gpu};
};
INSTANTIATE_TEST_SUITE_P(Ways, When, ::testing::Values(false, true), test::name_of_mode);

// Starts an await without blocking a thread.
template <class A>
std::future<await_result_t<A>> begin(A awaited) {
  auto given = std::make_unique<std::promise<await_result_t<A>>>();
  std::future<await_result_t<A>> result = given->get_future();
  [](A what, auto told) -> detached {
    try {
      if constexpr (std::is_void_v<await_result_t<A>>) {
        co_await what;
        told->set_value();
      } else {
        told->set_value(co_await what);
      }
    } catch (...) {
      told->set_exception(std::current_exception());
    }
  }(std::move(awaited), std::move(given));
  return result;
}

bool is_pending(const auto& result) { return result.wait_for(0s) == std::future_status::timeout; }

TEST_P(When, WhenAllWaitsForEveryCompletion) {
  gate first{s};
  gate second{t};
  const event e = t.record();
  auto all = begin(when_all(s.completion(), completion{}, e.completion()));
  EXPECT_TRUE(is_pending(all));
  first.open();
  s.sync();
  EXPECT_TRUE(is_pending(all));
  second.open();
  all.get();
}

TEST_P(When, WhenAllOfCompletedWorkIsDoneAtOnce) {
  sync_wait(when_all(s.completion(), completion{}));
  sync_wait(when_all(std::vector<completion>{}));
  EXPECT_EQ(sync_wait(when_any(completion{}, s.completion())), 0U);
}

TEST_P(When, WhenAnyReturnsTheIndexOfTheFirstCompletion) {
  gate first{s};
  gate second{t};
  const completion a = s.completion();
  const completion b = t.completion();
  auto any = begin(when_any(a, b));
  EXPECT_TRUE(is_pending(any));
  second.open();
  EXPECT_EQ(any.get(), 1U);
  EXPECT_FALSE(a.done());
  EXPECT_EQ(sync_wait(when_any(a, b)), 1U);
  first.open();
  a.wait();
}

TEST_P(When, WhenAnyOfNoCompletionsIsRefused) {
  const std::vector<completion> none;
  EXPECT_EQ(result_of([&] { static_cast<void>(when_any(none)); }), errc::invalid_value);
}

// Uses few streams: on a GPU, streams that wait for the host may block other streams.
TEST_P(When, WhenAllAndWhenAnyAcceptManyCompletions) {
  constexpr int many = 30;
  const stream third{gpu};
  const std::array<stream_ref, 3> streams{s, t, third};
  std::array<std::optional<gate>, 3> gates;
  std::vector<completion> points;
  points.reserve(many);
  for (int i = 0; i < 3; ++i) gates[i].emplace(streams[i]);
  for (int i = 0; i < many; ++i) points.push_back(streams[i % 3].completion());
  auto all = begin(when_all(points));
  auto any = begin(when_any(points));
  EXPECT_TRUE(is_pending(any));
  gates[1]->open();
  EXPECT_EQ(any.get() % 3, 1U);
  EXPECT_TRUE(is_pending(all));
  for (auto& one : gates) one->open();
  all.get();
}

TEST_P(When, ASetMayRepeatCompletionsAndBeAwaitedAgain) {
  gate held{s};
  const completion c = s.completion();
  const auto set = when_all(c, c, t.completion());
  auto first = begin(set);
  auto second = begin(set);
  auto third = begin(when_any(c, c));
  held.open();
  first.get();
  second.get();
  EXPECT_LT(third.get(), 2U);
  sync_wait(set);
}

TEST_P(When, FuturesPassedByReferenceCountAsCompletions) {
  gate held{s};
  future<int> a = s.enqueue([] { return 1; });
  future<void> b = t.enqueue([] {});
  EXPECT_EQ(sync_wait(when_any(a, b)), 1U);
  held.open();
  sync_wait(when_all(a, b));
  EXPECT_EQ(a.get(), 1);
}

// The reactor on which the wait began keeps its deadline, whatever happens to the completion
// queues.
TEST_P(When, WhenAllAndWhenAnyWaitAcrossDevices) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  for (int i = 0; i < 50; ++i) {
    const stream other{device{1}};
    gate first{s};
    gate second{other};
    const std::jthread opens{[&] {
      second.open();
      first.open();
    }};
    EXPECT_TRUE(sync_wait(when_all(other.completion(), s.completion()).within(1h)));
    EXPECT_TRUE(sync_wait(when_any(s.completion(), other.completion()).within(1h)).has_value());
  }
}

}  // namespace
}  // namespace weir
