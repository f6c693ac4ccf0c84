// SPDX-License-Identifier: Apache-2.0
// foreign_coroutine_test.cpp - coroutine types of other libraries, whose await_transform() sees the
// awaited object first.
#include <weir/completion/completion.hpp>
#include <weir/completion/future.hpp>
#include <weir/completion/resume_on.hpp>
#include <weir/completion/stop.hpp>
#include <weir/completion/task.hpp>
#include <weir/completion/when.hpp>
#include <weir/completion/when_all_values.hpp>
#include <weir/stream/stream.hpp>

#include <chrono>
#include <coroutine>
#include <exception>
#include <future>
#include <stop_token>
#include <utility>

#include <gtest/gtest.h>

#include "support/completion_modes.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::gate;
using namespace std::chrono_literals;

struct eager_promise {
  std::suspend_never initial_suspend() noexcept { return {}; }
  std::suspend_never final_suspend() noexcept { return {}; }
  void return_void() noexcept {}
  void unhandled_exception() noexcept { std::terminate(); }
};

// Its await_transform() forwards the awaited object.
struct forwarding_coroutine {
  struct promise_type : eager_promise {
    forwarding_coroutine get_return_object() noexcept { return {}; }
    template <class A>
    A&& await_transform(A&& awaited) noexcept {
      return std::forward<A>(awaited);
    }
  };
};

// Its await_transform() returns a copy of the awaited object.
struct copying_coroutine {
  struct promise_type : eager_promise {
    copying_coroutine get_return_object() noexcept { return {}; }
    template <class A>
    A await_transform(A awaited) {
      return awaited;
    }
  };
};

// Awaits each kind of awaitable once and sets the number of them that succeeded.
template <class Coroutine>
Coroutine await_all(stream_ref s, std::promise<int>& done_promise) {
  const completion c = s.completion();
  const std::stop_token never;
  int done = 0;
  co_await c;
  co_await s.completion();
  done += co_await c.outcome() == errc::success ? 1 : 0;
  co_await c.resume_on([](continuation work) { work(); });
  done += co_await c.within(1h) ? 1 : 0;
  done += co_await c.until(std::chrono::steady_clock::now() + 1h) ? 1 : 0;
  done += co_await stop_when(c, never) == wait_status::done ? 1 : 0;
  done += co_await stop_when(c, never, 1h) == wait_status::done ? 1 : 0;
  co_await when_all(c, c);
  done += co_await when_any(c, c) == 0 ? 1 : 0;
  done += co_await when_all(c, c).within(1h) ? 1 : 0;
  done += co_await when_any(c, c).until(std::chrono::steady_clock::now() + 1h) == 0U ? 1 : 0;
  done += co_await stop_when(when_all(c, c), never) == wait_status::done ? 1 : 0;
  co_await resume_on([](continuation work) { work(); });
  done += co_await s.enqueue([] { return 1; });
  done_promise.set_value(done);
}

// Each call awaits one object on a blocked stream, so that each await suspends.
template <class Coroutine, class Begin>
void expect_await_succeeds(stream_ref s, const Begin& begin) {
  gate held{s};
  std::promise<bool> done_promise;
  begin(s.completion(), done_promise);
  held.open();
  EXPECT_TRUE(done_promise.get_future().get());
}

class ForeignCoroutine : public test::completion_modes {};
INSTANTIATE_TEST_SUITE_P(Ways, ForeignCoroutine, ::testing::Values(false, true),
                         test::name_of_mode);

TEST_P(ForeignCoroutine, AForeignCoroutineCanAwaitCompletedWork) {
  std::promise<int> handed_on;
  await_all<forwarding_coroutine>(s, handed_on);
  EXPECT_EQ(handed_on.get_future().get(), 10);
  std::promise<int> kept;
  await_all<copying_coroutine>(s, kept);
  EXPECT_EQ(kept.get_future().get(), 10);
}

template <class Coroutine>
void await_pending_completions(stream_ref s) {
  using done_promise = std::promise<bool>;
  expect_await_succeeds<Coroutine>(s, [](completion c, done_promise& to) {
    [](completion awaited_completion, done_promise& result) -> Coroutine {
      result.set_value(co_await awaited_completion.outcome() == errc::success);
    }(c, to);
  });
  expect_await_succeeds<Coroutine>(s, [](completion c, done_promise& to) {
    [](completion awaited_completion, done_promise& result) -> Coroutine {
      result.set_value(co_await awaited_completion.within(1h));
    }(c, to);
  });
  expect_await_succeeds<Coroutine>(s, [](completion c, done_promise& to) {
    [](completion awaited_completion, done_promise& result) -> Coroutine {
      const std::stop_source source;
      const wait_status how = co_await stop_when(awaited_completion, source.get_token());
      result.set_value(how == wait_status::done);
    }(c, to);
  });
  expect_await_succeeds<Coroutine>(s, [](completion c, done_promise& to) {
    [](completion awaited_completion, done_promise& result) -> Coroutine {
      co_await awaited_completion.resume_on([](continuation work) { work(); });
      result.set_value(true);
    }(c, to);
  });
  expect_await_succeeds<Coroutine>(s, [](completion c, done_promise& to) {
    [](completion awaited_completion, done_promise& result) -> Coroutine {
      const bool in_time = co_await when_all(awaited_completion, awaited_completion).within(1h);
      result.set_value(in_time);
    }(c, to);
  });
}

TEST_P(ForeignCoroutine, AForeignCoroutineCanAwaitPendingWork) {
  await_pending_completions<forwarding_coroutine>(s);
  await_pending_completions<copying_coroutine>(s);
}

}  // namespace
}  // namespace weir
