// when_test.cpp - several ends of work as one wait, and waits with an end.
#include <weir/completion.hpp>
#include <weir/device.hpp>
#include <weir/event.hpp>
#include <weir/fill.hpp>
#include <weir/future.hpp>
#include <weir/host_function.hpp>
#include <weir/pinned_buffer.hpp>
#include <weir/resume_on.hpp>
#include <weir/stop.hpp>
#include <weir/stream.hpp>
#include <weir/sync_wait.hpp>
#include <weir/task.hpp>
#include <weir/when.hpp>
#include <weir/when_all_values.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "support/completion_ways.hpp"
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
concept can_wait_for = requires(C&&... c) {
  when_any(std::forward<C>(c)...);
};
static_assert(can_wait_for<completion, const completion&, future<int>&, future<void>>);
static_assert(!can_wait_for<future<int>> && !can_wait_for<int>, "its value would be lost");

class When : public test::completion_ways {
 protected:
  stream t{gpu};
};
INSTANTIATE_TEST_SUITE_P(Ways, When, ::testing::Values(false, true), test::name_of_way);

// Awaits it without a thread that waits.
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

TEST_P(When, AllOfThem) {
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

TEST_P(When, AllOfWhatIsDone) {
  sync_wait(when_all(s.completion(), completion{}));
  sync_wait(when_all(std::vector<completion>{}));
  EXPECT_EQ(sync_wait(when_any(completion{}, s.completion())), 0U);
}

TEST_P(When, TheFirstOfThem) {
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

TEST_P(When, TheFirstOfNoneIsRefused) {
  const std::vector<completion> none;
  EXPECT_EQ(result_of([&] { static_cast<void>(when_any(none)); }), errc::invalid_value);
}

// Few streams: those that wait for the host stand in a GPU's queues before others.
TEST_P(When, AnyNumberOfThem) {
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

TEST_P(When, SetsMayShareAndBeAwaitedAgain) {
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

TEST_P(When, FuturesThatStayCountAsCompletions) {
  gate held{s};
  future<int> a = s.enqueue_async([] { return 1; });
  future<void> b = t.enqueue_async([] {});
  EXPECT_EQ(sync_wait(when_any(a, b)), 1U);
  held.open();
  sync_wait(when_all(a, b));
  EXPECT_EQ(a.get(), 1);
}

TEST_P(When, FuturesThatAreGivenAwayGiveTheirValues) {
  gate held{s};
  future<int> a = s.enqueue_async([] { return 1; });
  future<std::string> c = t.enqueue_async([] { return std::string{"two"}; });
  held.open();
  const std::tuple<int, std::string> both = sync_wait(when_all(std::move(a), t.enqueue_async([] {}), std::move(c)));
  EXPECT_EQ(both, (std::tuple{1, std::string{"two"}}));
  std::vector<future<int>> many;
  many.reserve(5);
  for (int i = 0; i < 5; ++i) many.push_back((i % 2 == 0 ? s : t).enqueue_async([i] { return i; }));
  EXPECT_EQ(sync_wait(when_all(std::move(many))), (std::vector{0, 1, 2, 3, 4}));
}

task<int> number_after(stream_ref s, int number) {
  co_await s.completion();
  co_return number;
}

TEST_P(When, TasksRunBesideEachOther) {
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

TEST_P(When, TasksOfAnyNumber) {
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

TEST_P(When, ATaskThatThrowsEndsNoOther) {
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

TEST_P(When, WithATaskThatCannotBeginNoneBegins) {
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

TEST_P(When, TheFirstInOrderThatFailsIsThrown) {
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

TEST_P(When, FuturesInAVector) {
  std::vector<future<void>> without;
  without.push_back(s.enqueue_async([] {}));
  sync_wait(when_all(std::move(without)));
  std::vector<future<int>> kept;
  kept.push_back(t.enqueue_async([] { return 4; }));
  sync_wait(when_all(kept));
  EXPECT_LT(sync_wait(when_any(kept)), kept.size());
  EXPECT_EQ(kept.front().get(), 4);
}

TEST_P(When, TimeEndsAWaitAndNotTheWork) {
  gate held{s};
  const completion c = s.completion();
  EXPECT_FALSE(sync_wait(c.within(0s)));
  EXPECT_FALSE(sync_wait(c.within(1ms)));
  EXPECT_FALSE(sync_wait(c.by(std::chrono::steady_clock::now() + 1ms)));
  EXPECT_FALSE(sync_wait(when_all(c, t.completion()).within(1ms)));
  EXPECT_FALSE(sync_wait(when_any(c, c).within(1ms)));
  EXPECT_FALSE(sync_wait(when_any(std::vector{c}).by(std::chrono::steady_clock::now() + 1ms)));
  held.open();
  EXPECT_TRUE(sync_wait(c.within(1h)));
  EXPECT_TRUE(sync_wait(c.by(std::chrono::steady_clock::now() + 1h)));
  EXPECT_TRUE(sync_wait(when_all(c, c).within(1h)));
  EXPECT_EQ(sync_wait(when_any(c, c).within(1h)), 0U);
  EXPECT_TRUE(sync_wait(c.within(0s)));
}

TEST_P(When, WaitsThrowWhatAHostFunctionHasThrown) {
  for (const bool several : {false, true}) {
    gate held{s};
    launch_host(s, [] { throw std::runtime_error{"thrown in a host function"}; });
    std::promise<bool> told;
    [](completion c, bool with_another, std::promise<bool>& answer) -> detached {
      try {
        answer.set_value(with_another ? co_await when_all(c, c).within(1h) : co_await c.within(1h));
      } catch (...) {
        answer.set_exception(std::current_exception());
      }
    }(s.completion(), several, told);
    held.open();
    EXPECT_THROW(static_cast<void>(told.get_future().get()), std::runtime_error);
  }
}

TEST_P(When, ManyDeadlinesInAnyOrder) {
  gate held{s};
  const completion c = s.completion();
  std::vector<std::future<bool>> late;
  late.reserve(200);
  for (int i = 0; i < 200; ++i) {
    late.push_back([](completion awaited, int microseconds) {
      auto given = std::make_unique<std::promise<bool>>();
      auto result = given->get_future();
      [](completion what, int limit, auto told) -> detached {
        told->set_value(co_await what.within(std::chrono::microseconds{limit}));
      }(awaited, microseconds, std::move(given));
      return result;
    }(c, (i * 37) % 200 * 10));
  }
  for (auto& one : late) EXPECT_FALSE(one.get());
  held.open();
  c.wait();
}

// Deadlines about when the work ends: each wait ends once, in one way or the other.
TEST_P(When, DeadlinesRaceWithTheEnd) {
  for (int i = 0; i < 200; ++i) {
    gate held{s};
    const completion c = s.completion();
    const std::jthread opens{[&] { held.open(); }};
    static_cast<void>(sync_wait(c.within(std::chrono::microseconds{i})));
    c.wait();
    EXPECT_TRUE(sync_wait(c.within(0s)));
  }
}

// Deadlines are looked after where the wait began, whatever becomes of the lanes meanwhile.
TEST_P(When, OverSeveralDevices) {
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

TEST_P(When, AStopEndsAWaitAndNotTheWork) {
  gate held{s};
  const completion c = s.completion();
  std::stop_source source;
  const std::jthread stops{[&] { source.request_stop(); }};
  EXPECT_EQ(sync_wait(stop_when(c, source.get_token())), awaited::stopped);
  EXPECT_EQ(sync_wait(stop_when(c, source.get_token())), awaited::stopped);
  EXPECT_EQ(sync_wait(stop_when(c, std::stop_token{}, 1ms)), awaited::late);
  EXPECT_EQ(sync_wait(stop_when(when_all(c, c), source.get_token())), awaited::stopped);
  EXPECT_EQ(sync_wait(stop_when(when_any(c, c), source.get_token())), std::nullopt);
  EXPECT_EQ(sync_wait(stop_when(when_any(c, c), std::stop_token{}, 1ms)), std::nullopt);
  held.open();
  EXPECT_EQ(sync_wait(stop_when(c, std::stop_token{})), awaited::done);
  EXPECT_EQ(sync_wait(stop_when(c, source.get_token())), awaited::done);
  EXPECT_EQ(sync_wait(stop_when(when_any(c, c), source.get_token())), 0U);
}

TEST_P(When, AStopDoesNotResumeInsideOfTheRequest) {
  gate held{s};
  std::stop_source source;
  std::promise<std::thread::id> resumed;
  [](completion c, std::stop_token token, std::promise<std::thread::id>& told) -> detached {
    static_cast<void>(co_await stop_when(c, token));
    told.set_value(std::this_thread::get_id());
  }(s.completion(), source.get_token(), resumed);
  source.request_stop();
  EXPECT_NE(resumed.get_future().get(), std::this_thread::get_id());
  held.open();
}

TEST_P(When, StopsRaceWithTheEndAndWithDeadlines) {
  for (int i = 0; i < 200; ++i) {
    gate held{s};
    const completion c = s.completion();
    std::stop_source source;
    const std::jthread opens{[&] { held.open(); }};
    const std::jthread stops{[&] { source.request_stop(); }};
    static_cast<void>(
        sync_wait(stop_when(when_all(c, t.completion()), source.get_token(), std::chrono::microseconds{i})));
    static_cast<void>(sync_wait(stop_when(c, source.get_token())));
    c.wait();
  }
}

}  // namespace
}  // namespace weir
