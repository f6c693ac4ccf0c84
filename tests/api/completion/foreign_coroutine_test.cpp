// foreign_coroutine_test.cpp - coroutines of other libraries' types, which see what is awaited before the compiler does.
#include <weir/completion/completion.hpp>
#include <weir/completion/future.hpp>
#include <weir/completion/resume_on.hpp>
#include <weir/completion/stop.hpp>
#include <weir/stream/stream.hpp>
#include <weir/completion/task.hpp>
#include <weir/completion/when.hpp>
#include <weir/completion/when_all_values.hpp>

#include <chrono>
#include <coroutine>
#include <exception>
#include <future>
#include <stop_token>
#include <utility>

#include <gtest/gtest.h>

#include "support/completion_ways.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::gate;
using namespace std::chrono_literals;

struct begins_at_once {
  std::suspend_never initial_suspend() noexcept { return {}; }
  std::suspend_never final_suspend() noexcept { return {}; }
  void return_void() noexcept {}
  void unhandled_exception() noexcept { std::terminate(); }
};

// Hands it on as it is.
struct handing_on {
  struct promise_type : begins_at_once {
    handing_on get_return_object() noexcept { return {}; }
    template <class A>
    A&& await_transform(A&& awaited) noexcept {
      return std::forward<A>(awaited);
    }
  };
};

// Keeps it as a value.
struct keeping {
  struct promise_type : begins_at_once {
    keeping get_return_object() noexcept { return {}; }
    template <class A>
    A await_transform(A awaited) {
      return awaited;
    }
  };
};

// Awaits all that there is to await, once each, and gives how much of it was done.
template <class Coroutine>
Coroutine await_all(stream_ref s, std::promise<int>& told) {
  const completion c = s.completion();
  const std::stop_token never;
  int done = 0;
  co_await c;
  co_await s.completion();
  done += co_await c.outcome() == errc::success ? 1 : 0;
  co_await c.on([](continuation rest) { rest(); });
  done += co_await c.within(1h) ? 1 : 0;
  done += co_await c.by(std::chrono::steady_clock::now() + 1h) ? 1 : 0;
  done += co_await stop_when(c, never) == awaited::done ? 1 : 0;
  done += co_await stop_when(c, never, 1h) == awaited::done ? 1 : 0;
  co_await when_all(c, c);
  done += co_await when_any(c, c) == 0 ? 1 : 0;
  done += co_await when_all(c, c).within(1h) ? 1 : 0;
  done += co_await when_any(c, c).by(std::chrono::steady_clock::now() + 1h) == 0U ? 1 : 0;
  done += co_await stop_when(when_all(c, c), never) == awaited::done ? 1 : 0;
  co_await resume_on([](continuation rest) { rest(); });
  done += co_await s.enqueue_async([] { return 1; });
  told.set_value(done);
}

// One of them to suspend in, as the first has to end before the second begins.
template <class Coroutine, class Begin>
void awaits_it(stream_ref s, const Begin& begin) {
  gate held{s};
  std::promise<bool> told;
  begin(s.completion(), told);
  held.open();
  EXPECT_TRUE(told.get_future().get());
}

class ForeignCoroutine : public test::completion_ways {};
INSTANTIATE_TEST_SUITE_P(Ways, ForeignCoroutine, ::testing::Values(false, true), test::name_of_way);

TEST_P(ForeignCoroutine, AwaitsWhatIsDone) {
  std::promise<int> handed_on;
  await_all<handing_on>(s, handed_on);
  EXPECT_EQ(handed_on.get_future().get(), 10);
  std::promise<int> kept;
  await_all<keeping>(s, kept);
  EXPECT_EQ(kept.get_future().get(), 10);
}

template <class Coroutine>
void awaits_what_is_pending(stream_ref s) {
  using told = std::promise<bool>;
  awaits_it<Coroutine>(s, [](completion c, told& to) {
    [](completion of, told& result) -> Coroutine { result.set_value(co_await of.outcome() == errc::success); }(c, to);
  });
  awaits_it<Coroutine>(s, [](completion c, told& to) {
    [](completion of, told& result) -> Coroutine { result.set_value(co_await of.within(1h)); }(c, to);
  });
  awaits_it<Coroutine>(s, [](completion c, told& to) {
    [](completion of, told& result) -> Coroutine {
      const std::stop_source source;
      const awaited how = co_await stop_when(of, source.get_token());
      result.set_value(how == awaited::done);
    }(c, to);
  });
  awaits_it<Coroutine>(s, [](completion c, told& to) {
    [](completion of, told& result) -> Coroutine {
      co_await of.on([](continuation rest) { rest(); });
      result.set_value(true);
    }(c, to);
  });
  awaits_it<Coroutine>(s, [](completion c, told& to) {
    [](completion of, told& result) -> Coroutine {
      const bool in_time = co_await when_all(of, of).within(1h);
      result.set_value(in_time);
    }(c, to);
  });
}

TEST_P(ForeignCoroutine, AwaitsWhatIsPending) {
  awaits_what_is_pending<handing_on>(s);
  awaits_what_is_pending<keeping>(s);
}

}  // namespace
}  // namespace weir
