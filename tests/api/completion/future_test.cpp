// SPDX-License-Identifier: Apache-2.0
// future_test.cpp - values that become available when the work of a stream is done.
#include <weir/capture/capture.hpp>
#include <weir/completion/completion.hpp>
#include <weir/completion/future.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>
#include <weir/completion/when_all_values.hpp>
#include <weir/device/device.hpp>
#include <weir/graph/graph.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <any>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/completion_modes.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::gate;
using test::result_of;
using namespace std::chrono_literals;

static_assert(!std::copy_constructible<future<int>> && std::movable<future<int>>);
static_assert(std::convertible_to<const future<int>&, completion> &&
              std::convertible_to<future<void>, completion>);

class Future : public test::completion_modes {};
INSTANTIATE_TEST_SUITE_P(Ways, Future, ::testing::Values(false, true), test::name_of_mode);

// Memory that the work writes to. Sets `told` in its destructor.
struct result {
  explicit result(std::promise<void>* told = nullptr) : gone{told} {}
  result(result&& other) noexcept
      : x{std::move(other.x)}, gone{std::exchange(other.gone, nullptr)} {}
  ~result() {
    if (gone != nullptr) gone->set_value();
  }
  pinned_buffer<int> x{1};
  std::promise<void>* gone;
};

future<result> seven(stream_ref s, std::promise<void>* gone = nullptr) {
  return s.enqueue([gone](stream_ref on) {
    result made{gone};
    fill(on, made.x, 7);
    return made;
  });
}

TEST_P(Future, AFutureReturnsTheValueWhenTheWorkIsDone) {
  gate held{s};
  future<result> f = seven(s);
  EXPECT_TRUE(f.valid());
  EXPECT_FALSE(f.done());
  EXPECT_EQ(f.status(), errc::not_ready);
  EXPECT_FALSE(f.wait_for(0s));
  EXPECT_FALSE(f.wait_until(std::chrono::steady_clock::now()));
  held.open();
  EXPECT_EQ(f.get().x.data()[0], 7);
  EXPECT_EQ(f.get().x.data()[0], 7);  // rule 87
  EXPECT_TRUE(f.done());
  f.wait();
  const result taken = std::move(f).get();
  EXPECT_EQ(taken.x.data()[0], 7);
}

TEST_P(Future, AFutureWithoutAValueReportsClosed) {
  future<result> f = seven(s);
  future<result> moved = std::move(f);
  EXPECT_FALSE(f.valid());  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_EQ(result_of([&] { static_cast<void>(f.get()); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(f.done()); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(f.completion()); }), errc::closed);
  const std::uint_least32_t line = __LINE__ + 1;
  const auto failure = test::failure_of([&] { static_cast<void>(f.get()); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->where().line(), line);
  EXPECT_STREQ(failure->call(), "weir::future::get");
  EXPECT_EQ(failure->hint(),
            "the future's value was taken, or the future was moved from; check valid() first");
  static_cast<void>(std::move(moved).get());
  // NOLINTNEXTLINE(bugprone-use-after-move)
  const auto used_up =
      test::failure_of([&] { static_cast<void>(moved.within(std::chrono::seconds{1})); });
  ASSERT_TRUE(used_up);
  EXPECT_EQ(used_up->result(), errc::closed);
  EXPECT_STREQ(used_up->call(), "weir::future::within");
  // NOLINTNEXTLINE(bugprone-use-after-move)
  const auto joined =
      test::failure_of([&] { sync_wait(when_all(std::move(f), std::move(moved))); });
  ASSERT_TRUE(joined);
  EXPECT_STREQ(joined->call(), "weir::when_all");
}

// The source line of a co_await is not available. No line is better than a line inside weir.
task<> awaits(future<result>& f) { co_await f; }
task<> awaits_the_value(future<result>& f) { co_await std::move(f); }
task<> awaits_with_another(future<result>& f) {
  co_await when_all(std::move(f), future<result>{std::move(f)});
}

TEST_P(Future, AwaitingAFutureWithoutAValueNamesNoSourceLine) {
  future<result> f = seven(s);
  const future<result> moved = std::move(f);
  for (const auto awaiting : {awaits, awaits_the_value, awaits_with_another}) {
    const auto failure = test::failure_of([&] { sync_wait(awaiting(f)); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->code(), errc::closed);
    EXPECT_STREQ(failure->where().file_name(), "");
  }
  const auto failure = test::failure_of([&] { static_cast<void>(completion{f}); });
  ASSERT_TRUE(failure);
  EXPECT_STREQ(failure->where().file_name(), "");
}

TEST_P(Future, AFutureCanBeAwaited) {
  gate held{s};
  future<result> f = seven(s);
  const std::jthread opens{[&] { held.open(); }};
  const int twice = sync_wait([&]() -> task<int> {
    result& there = co_await f;
    const int first = there.x.data()[0];
    const result taken = co_await std::move(f);
    co_return 10 * first + taken.x.data()[0];
  }());
  EXPECT_EQ(twice, 77);
  EXPECT_EQ(sync_wait(seven(s)).x.data()[0], 7);
}

// Returns true if there was a value to take.
task<bool> takes(future<result>& f) {
  try {
    co_return (co_await std::move(f)).x.data()[0] == 7;
  } catch (const error& failure) {
    EXPECT_EQ(failure.code(), errc::closed);
    EXPECT_STREQ(failure.call(), "co_await weir::future");
    co_return false;
  }
}

TEST_P(Future, OneOfTwoAwaitingCoroutinesTakesTheValue) {
  gate held{s};
  future<result> f = seven(s);
  const std::jthread opens{[&] { held.open(); }};
  const auto [first, second] = sync_wait(when_all(takes(f), takes(f)));
  EXPECT_NE(first, second);
}

TEST_P(Future, AFutureCanBeAwaitedWithADeadline) {
  gate held{s};
  future<result> f = seven(s);
  EXPECT_FALSE(sync_wait(f.within(1ms)));
  EXPECT_FALSE(sync_wait(f.until(std::chrono::steady_clock::now())));
  held.open();
  EXPECT_EQ(sync_wait(f.outcome()), errc::success);
  EXPECT_TRUE(sync_wait(f.within(1h)));
  EXPECT_EQ(f.get().x.data()[0], 7);
}

TEST_P(Future, AFutureOfVoidWaitsForTheWork) {
  pinned_buffer<int> x{1};
  x.data()[0] = 0;
  gate held{s};
  future<void> f = s.enqueue([&](stream_ref on) { fill(on, x, 4); });
  EXPECT_FALSE(f.done());
  held.open();
  f.get();
  EXPECT_EQ(x.data()[0], 4);
  sync_wait([&]() -> task<> { co_await f; }());
  EXPECT_EQ(s.enqueue([] { return 3; }).get(), 3);
}

// Rule 90: the value of a dropped future is destroyed when the work is done.
TEST_P(Future, ADroppedFutureKeepsTheValueUntilTheWorkIsDone) {
  std::promise<void> gone;
  std::future<void> told = gone.get_future();
  gate held{s};
  { const future<result> dropped = seven(s, &gone); }
  EXPECT_EQ(told.wait_for(0s), std::future_status::timeout);
  held.open();
  told.get();
}

TEST_P(Future, AFutureDroppedAfterTheWorkDestroysTheValueAtOnce) {
  std::promise<void> gone;
  std::future<void> told = gone.get_future();
  {
    const future<result> dropped = seven(s, &gone);
    dropped.wait();
  }
  EXPECT_EQ(told.wait_for(0s), std::future_status::ready);
}

TEST_P(Future, AnAssignedFutureKeepsItsOldValueUntilTheWorkIsDone) {
  std::promise<void> gone;
  std::future<void> told = gone.get_future();
  gate held{s};
  future<result> f = seven(s, &gone);
  f = seven(s);
  EXPECT_EQ(told.wait_for(0s), std::future_status::timeout);
  held.open();
  told.get();
  EXPECT_EQ(f.get().x.data()[0], 7);
}

// A list of two elements stays a list of two elements.
TEST_P(Future, AFutureDoesNotWrapItsValueInAList) {
  future<std::vector<std::any>> f = s.enqueue([] { return std::vector<std::any>{1, 2}; });
  EXPECT_EQ(std::move(f).get().size(), 2U);
}

// The thread that runs the continuation is also the one that later destroys the value.
TEST_P(Future, AFutureCanBeDroppedInAContinuationWhileItsWorkIsPending) {
  const stream t{gpu};
  std::promise<void> gone;
  std::future<void> is_gone = gone.get_future();
  std::optional<gate> held{std::in_place, t};
  auto pending = std::make_unique<std::optional<future<result>>>(seven(t, &gone));
  std::promise<errc> dropped;
  s.completion().then([&](errc) {
    const errc before = (*pending)->status();
    pending.reset();
    dropped.set_value(before);
  });
  EXPECT_EQ(dropped.get_future().get(), errc::not_ready);
  EXPECT_EQ(is_gone.wait_for(0s), std::future_status::timeout);
  held->open();
  is_gone.get();
}

}  // namespace
}  // namespace weir
