// completion_test.cpp - the end of work: asked for, waited for, awaited, by the engine's news and by questions.
#include <weir/allow_sync.hpp>
#include <weir/buffer.hpp>
#include <weir/completion.hpp>
#include <weir/context.hpp>
#include <weir/device.hpp>
#include <weir/fill.hpp>
#include <weir/host_function.hpp>
#include <weir/pinned_buffer.hpp>
#include <weir/stream.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "support/completion_ways.hpp"
#include "support/detached.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::await;
using test::detached;
using test::gate;
using test::result_of;
using namespace std::chrono_literals;

class Completion : public test::completion_ways {};
INSTANTIATE_TEST_SUITE_P(Ways, Completion, ::testing::Values(false, true), test::name_of_way);

TEST_P(Completion, OfNothingIsDone) {
  const completion none;
  EXPECT_TRUE(none.done());
  EXPECT_EQ(none.status(), errc::success);
  none.wait();
  EXPECT_TRUE(none.wait_for(0s));
  std::promise<errc> answer;
  await(none, answer);
  EXPECT_EQ(answer.get_future().get(), errc::success);
  std::promise<errc> called;
  none.then([&](errc outcome) { called.set_value(outcome); });
  EXPECT_EQ(called.get_future().get(), errc::success);
}

// Rule 83.
TEST_P(Completion, OfAnEmptyStreamIsDone) {
  const completion c = s.completion();
  c.wait();
  EXPECT_TRUE(c.done());
  EXPECT_EQ(c.status(), errc::success);
}

TEST_P(Completion, ComesAfterTheWorkBefore) {
  pinned_buffer<unsigned char> host{1};
  host.data()[0] = 0;
  gate held{s};
  fill(s, host, static_cast<unsigned char>(7));
  const completion c = s.completion();
  EXPECT_FALSE(c.done());
  EXPECT_EQ(c.status(), errc::not_ready);
  EXPECT_FALSE(c.wait_for(0s));
  EXPECT_FALSE(c.wait_for(1ms));
  EXPECT_FALSE(c.wait_until(std::chrono::steady_clock::now() - 1h));
  held.open();
  c.wait();
  EXPECT_EQ(host.data()[0], 7);
  EXPECT_TRUE(c.done());
}

TEST_P(Completion, IsThePointAndNotTheStream) {
  const completion before = [&] {
    gate held{s};
    const completion c = s.completion();
    held.open();
    return c;
  }();
  gate held{s};
  const completion behind = s.completion();
  before.wait();
  EXPECT_TRUE(before.done());
  EXPECT_FALSE(behind.done());
  held.open();
  behind.wait();
}

TEST_P(Completion, ResumesACoroutine) {
  gate held{s};
  const completion c = s.completion();
  std::promise<errc> answer;
  std::future<errc> told = answer.get_future();
  await(c, answer);
  EXPECT_EQ(told.wait_for(0s), std::future_status::timeout);
  held.open();
  EXPECT_EQ(told.get(), errc::success);
  EXPECT_TRUE(c.done());
}

// Rule 87.
TEST_P(Completion, IsAwaitedByAnyNumber) {
  constexpr int many = 100;
  gate held{s};
  const completion c = s.completion();
  std::vector<std::promise<errc>> answers(2 * many);
  for (int i = 0; i < many; ++i) await(c, answers[i]);
  held.open();
  c.wait();
  for (int i = many; i < 2 * many; ++i) await(c, answers[i]);
  for (auto& answer : answers) EXPECT_EQ(answer.get_future().get(), errc::success);
}

TEST_P(Completion, InAnyOrder) {
  constexpr int many = 300;
  gate held{s};
  buffer<int> x{s, 1};
  std::vector<completion> points;
  for (int i = 0; i < many; ++i) {
    fill(s, x, i);
    points.push_back(s.completion());
  }
  std::vector<std::promise<errc>> answers(many);
  for (int i = many; i-- > 0;) await(points[i], answers[i]);
  held.open();
  for (auto& answer : answers) EXPECT_EQ(answer.get_future().get(), errc::success);
  for (const completion& c : points) EXPECT_TRUE(c.done());
}

// Rule 86.
TEST_P(Completion, DroppedOnesAreNobodysConcern) {
  gate held{s};
  buffer<int> x{s, 1};
  for (int i = 0; i < 5000; ++i) {
    if (i % 500 == 0) fill(s, x, i);
    static_cast<void>(s.completion());
  }
  const completion last = s.completion();
  held.open();
  last.wait();
}

TEST_P(Completion, CallsAFunction) {
  gate held{s};
  std::promise<errc> with;
  std::promise<void> without;
  s.completion().then([&](errc outcome) { with.set_value(outcome); });
  s.completion().then([only = std::make_unique<int>(1), &without] { without.set_value(); });
  held.open();
  EXPECT_EQ(with.get_future().get(), errc::success);
  without.get_future().get();
}

TEST_P(Completion, AnExecutorSaysWhere) {
  std::promise<continuation> given;
  const auto later = [&](continuation c) { given.set_value(c); };
  bool resumed = false;
  gate held{s};
  const completion c = s.completion();
  [](completion awaited, auto executor, bool& went_on) -> detached {
    co_await awaited.on(executor);
    went_on = true;
  }(c, later, resumed);
  held.open();
  const continuation rest = given.get_future().get();
  EXPECT_FALSE(resumed);
  rest();
  EXPECT_TRUE(resumed);
}

TEST_P(Completion, AnExecutorThatThrowsLosesNothing) {
  gate held{s};
  std::promise<void> called;
  s.completion().then([](continuation) { throw std::runtime_error{"full"}; }, [&] { called.set_value(); });
  held.open();
  called.get_future().get();
}

// Rules 84 and 89: the stream's end does not end what was asked of it.
TEST_P(Completion, OutlivesItsStream) {
  std::optional<stream> t{gpu};
  auto held = std::make_unique<gate>(*t);
  const completion c = t->completion();
  std::promise<errc> answer;
  await(c, answer);
  t.reset();
  EXPECT_EQ(c.status(), errc::not_ready);
  held->open();
  EXPECT_EQ(answer.get_future().get(), errc::success);
  c.wait();
}

TEST_P(Completion, TheLastOwnerMayGoInAContinuation) {
  auto t = std::make_unique<stream>(gpu);
  gate held{*t};
  const completion c = t->completion();
  std::promise<void> gone;
  c.then([owner = std::move(t), &gone]() mutable {
    owner.reset();
    gone.set_value();
  });
  held.open();
  gone.get_future().get();
  EXPECT_TRUE(c.done());
}

// A lane serves another stream afterwards; what it told of the one before stays true.
TEST_P(Completion, StreamsComeAndGo) {
  std::vector<completion> all;
  for (int i = 0; i < 200; ++i) {
    const stream t{gpu};
    buffer<int> x{t, 1};
    fill(t, x, i);
    all.push_back(t.completion());
    if (i % 3 == 0) all.back().wait();
    for (const completion& earlier : all) {
      if (&earlier != &all.back()) static_cast<void>(earlier.done());
    }
  }
  for (const completion& c : all) c.wait();
  for (const completion& c : all) EXPECT_TRUE(c.done());
}

TEST_P(Completion, ContinuationsMayWaitAndAwait) {
  stream t{gpu};
  gate first{s};
  const completion c = s.completion();
  std::promise<int> answer;
  [](completion awaited, stream_ref other, std::promise<int>& told) -> detached {
    co_await awaited;
    pinned_buffer<int> x{1};
    fill(other, x, 5);
    co_await other.completion();
    const int seen = x.data()[0];
    fill(other, x, 6);
    other.completion().wait();  // it blocks a thread of the reactor's, and still ends
    told.set_value(seen * 10 + x.data()[0]);
  }(c, t, answer);
  first.open();
  EXPECT_EQ(answer.get_future().get(), 56);
}

TEST_P(Completion, ManyThreadsWait) {
  constexpr int threads = 8;
  gate held{s};
  const completion c = s.completion();
  std::latch ready{threads};
  std::vector<std::jthread> waiting;
  std::atomic<int> done{0};
  for (int i = 0; i < threads; ++i) {
    waiting.emplace_back([&, i] {
      ready.count_down();
      if (i % 2 == 0) {
        c.wait();
      } else if (!c.wait_for(1h)) {
        return;
      }
      ++done;
    });
  }
  ready.wait();
  held.open();
  waiting.clear();
  EXPECT_EQ(done, threads);
}

TEST_P(Completion, DefaultStreamsHaveThemToo) {
  const auto current = gpu.primary_context();
  detail::driver().cuCtxSetCurrent(current.get());
  for (const stream_ref t :
       {stream_ref::legacy(), stream_ref::per_thread(), stream_ref{static_cast<CUstream_st*>(nullptr)}}) {
    gate held{t};
    const completion c = t.completion();
    EXPECT_FALSE(c.done());
    held.open();
    c.wait();
    EXPECT_TRUE(c.done());
  }
  std::jthread{[&] {
    detail::driver().cuCtxSetCurrent(current.get());
    gate held{stream_ref::per_thread()};
    const completion c = stream_ref::per_thread().completion();
    EXPECT_FALSE(c.done());
    held.open();
    c.wait();
  }}.join();
}

TEST_P(Completion, ForeignStreamsHaveThemToo) {
  for (int i = 0; i < 100; ++i) {
    stream made{gpu};
    CUstream_st* const handle = made.release();
    gate held{handle};
    const completion c = stream_ref{handle}.completion();
    EXPECT_FALSE(c.done());
    if (i % 2 == 0) held.open();
    detail::driver().cuStreamDestroy_v2(handle);
    held.open();
    c.wait();
  }
}

TEST_P(Completion, OfAClosedStreamIsRefused) {
  stream t{gpu};
  t.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(t.completion()); }), errc::closed);
}

TEST_P(Completion, ThrowsWhatAHostFunctionHasThrown) {
  gate held{s};
  launch_host(s, [] { throw std::runtime_error{"thrown in a host function"}; });
  const completion c = s.completion();
  held.open();
  while (!c.done()) std::this_thread::yield();  // leaves it to who waits
  EXPECT_THROW(c.wait(), std::runtime_error);
  c.wait();  // once
}

// The thread that goes on is not the one whose default stream it is.
TEST_P(Completion, ThrowsWhatAHostFunctionOfADefaultStreamHasThrown) {
  const auto current = gpu.primary_context();
  detail::driver().cuCtxSetCurrent(current.get());
  for (const stream_ref t : {stream_ref::legacy(), stream_ref::per_thread()}) {
    auto told = std::make_unique<std::promise<void>>();
    std::future<void> end = told->get_future();
    gate held{t};
    launch_host(t, [] { throw std::runtime_error{"thrown in a host function"}; });
    [](completion c, std::unique_ptr<std::promise<void>> to) -> detached {
      try {
        co_await c;
        to->set_value();
      } catch (...) {
        to->set_exception(std::current_exception());
      }
    }(t.completion(), std::move(told));
    held.open();
    EXPECT_THROW(end.get(), std::runtime_error);
  }
}

TEST_P(Completion, GuardsSeeTheWait) {
  gate held{s};
  const completion c = s.completion();
  const allow_sync none{false};
  EXPECT_EQ(result_of([&] { c.wait(); }), errc::not_permitted);
  EXPECT_FALSE(c.done());
  held.open();
}

TEST_P(Completion, IsNotWaitedForInAHostFunction) {
  gate held{s};
  stream t{gpu};
  const completion c = s.completion();
  errc waited = errc::success;
  errc asked = errc::success;
  launch_host(t, [&] {
    waited = result_of([&] { c.wait(); });
    asked = c.status();
  });
  t.sync();
  EXPECT_EQ(waited, errc::not_permitted);
  EXPECT_EQ(asked, errc::not_ready);
  held.open();
}

}  // namespace
}  // namespace weir
