// SPDX-License-Identifier: Apache-2.0
// sync_wait_test.cpp - threads that block for a coroutine and meanwhile resume what it waits for.
#include <weir/capture/capture.hpp>
#include <weir/completion/completion.hpp>
#include <weir/completion/resume_on.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>
#include <weir/core/sync_guard.hpp>
#include <weir/graph/graph.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdlib>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>
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

struct immovable {
  immovable() = default;
  immovable(immovable&&) = delete;
};
template <class T>
struct ready_awaitable {
  [[nodiscard]] bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<> /*awaiting*/) const noexcept {}
  [[nodiscard]] T await_resume() const { std::abort(); }  // never called
};
template <class A>
concept sync_waitable = requires(A&& a) {
  sync_wait(std::forward<A>(a));
};
static_assert(sync_waitable<ready_awaitable<std::unique_ptr<int>>> &&
              sync_waitable<ready_awaitable<immovable&>>);
static_assert(!sync_waitable<ready_awaitable<immovable>>,
              "what it gives passes through a coroutine");
static_assert(sync_waitable<task<int>> && !sync_waitable<task<int>&> &&
              !sync_waitable<const task<int>>);

class SyncWait : public test::completion_modes {};
INSTANTIATE_TEST_SUITE_P(Ways, SyncWait, ::testing::Values(false, true), test::name_of_mode);

task<int> read_after(stream_ref s, pinned_buffer<int>& x) {
  co_await s.completion();
  co_return x.data()[0];
}

TEST_P(SyncWait, SyncWaitBlocksUntilTheWorkIsDone) {
  pinned_buffer<int> x{1};
  x.data()[0] = 0;
  gate held{s};
  fill(s, x, 5);
  const std::jthread opens{[&] { held.open(); }};
  EXPECT_EQ(sync_wait(read_after(s, x)), 5);
}

TEST_P(SyncWait, SyncWaitResumesTheCoroutineOnItsOwnThread) {
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

TEST_P(SyncWait, SyncWaitAcceptsACompletion) {
  gate held{s};
  const completion c = s.completion();
  const std::jthread opens{[&] { held.open(); }};
  sync_wait(c);
  EXPECT_TRUE(c.done());
  sync_wait(s.completion());
  sync_wait(completion{});
}

TEST_P(SyncWait, ACoroutineCanAwaitManyCompletionsInTurn) {
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

TEST_P(SyncWait, SyncWaitCanBeNestedInACoroutineThatItResumes) {
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

TEST_P(SyncWait, SyncWaitCanRunOnSeveralThreadsAtOnce) {
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

TEST_P(SyncWait, ACoroutineCanMoveToAnotherThreadWithinSyncWait) {
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

TEST_P(SyncWait, ACoroutineResumesEvenIfItsExecutorThrows) {
  const std::thread::id resumed = sync_wait([]() -> task<std::thread::id> {
    co_await resume_on([](continuation) { throw std::runtime_error{"full"}; });
    co_return std::this_thread::get_id();
  }());
  EXPECT_EQ(resumed, std::this_thread::get_id());
}

TEST_P(SyncWait, SyncWaitRethrowsAHostFunctionException) {
  gate held{s};
  launch_host(s, [] { throw std::runtime_error{"thrown in a host function"}; });
  const std::jthread opens{[&] { held.open(); }};
  EXPECT_THROW(sync_wait([](stream_ref of) -> task<> { co_await of.completion(); }(s)),
               std::runtime_error);
}

TEST_P(SyncWait, SyncWaitIsRefusedWhereWaitsAreForbidden) {
  bool begun = false;
  const auto body = [&]() -> task<> {
    begun = true;
    co_return;
  };
  const sync_guard none{sync_rule::forbidden};
  EXPECT_EQ(result_of([&] { sync_wait(body()); }), errc::not_permitted);
  EXPECT_FALSE(begun);
}

TEST_P(SyncWait, SyncWaitIsRefusedInAHostFunction) {
  errc answer = errc::success;
  launch_host(s, [&] { answer = result_of([] { sync_wait([]() -> task<> { co_return; }()); }); });
  s.sync();
  EXPECT_EQ(answer, errc::not_permitted);
}

// The reactor thread is blocked here, although only it can pass a continuation to an executor.
TEST_P(SyncWait, SyncWaitCanRunInAContinuationOnTheReactorThread) {
  stream t{gpu};
  gate first{s};
  std::promise<int> answer;
  std::future<int> told = answer.get_future();
  s.completion().then([&t, &answer] {
    answer.set_value(sync_wait([](stream_ref of) -> task<int> {
      gate held{of};
      const completion c = of.completion();
      const std::jthread opens{[&held] { held.open(); }};
      co_await c.resume_on([](continuation rest) { rest(); });
      co_return 7;
    }(t)));
  });
  first.open();
  EXPECT_EQ(told.get(), 7);
}

TEST_P(SyncWait, SyncWaitBreaksNoCaptureThatItsCoroutineBegins) {
  stream t{gpu};
  pinned_buffer<int> x{1};
  const std::size_t nodes = sync_wait(
      [](stream_ref captured, stream_ref other, pinned_buffer<int>& to) -> task<std::size_t> {
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

TEST_P(SyncWait, SyncWaitBreaksNoCaptureOfItsThread) {
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
