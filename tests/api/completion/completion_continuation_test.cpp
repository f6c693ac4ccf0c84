// SPDX-License-Identifier: Apache-2.0
// completion_continuation_test.cpp - coroutines and functions that continue when work has ended, on
// a thread of weir or on an executor.
#include <weir/completion/completion.hpp>
#include <weir/completion/resume_on.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/completion_modes.hpp"
#include "support/detached.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::await;
using test::detached;
using test::gate;
using namespace std::chrono_literals;

class CompletionContinuation : public test::completion_modes {};
INSTANTIATE_TEST_SUITE_P(Ways, CompletionContinuation, ::testing::Values(false, true),
                         test::name_of_mode);

TEST_P(CompletionContinuation, ACompletionResumesACoroutine) {
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
TEST_P(CompletionContinuation, ACompletionCanBeAwaitedByManyCoroutines) {
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

TEST_P(CompletionContinuation, CompletionsCanBeAwaitedInAnyOrder) {
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

TEST_P(CompletionContinuation, ThenCallsAFunctionWithOrWithoutTheOutcome) {
  gate held{s};
  std::promise<errc> with;
  std::promise<void> without;
  s.completion().then([&](errc outcome) { with.set_value(outcome); });
  s.completion().then([only = std::make_unique<int>(1), &without] { without.set_value(); });
  held.open();
  EXPECT_EQ(with.get_future().get(), errc::success);
  without.get_future().get();
}

TEST_P(CompletionContinuation, AnExecutorRunsTheContinuation) {
  std::promise<continuation> given;
  const auto later = [&](continuation c) { given.set_value(c); };
  bool resumed = false;
  gate held{s};
  const completion c = s.completion();
  [](completion awaited, auto executor, bool& went_on) -> detached {
    co_await awaited.resume_on(executor);
    went_on = true;
  }(c, later, resumed);
  held.open();
  const continuation work = given.get_future().get();
  EXPECT_FALSE(resumed);
  work();
  EXPECT_TRUE(resumed);
}

struct counting_executor {
  void operator()(continuation work) const {
    ++*calls;
    work();
  }
  std::shared_ptr<int> calls;
};

TEST_P(CompletionContinuation, AnAwaitableCanBeAwaitedAgainWithTheSameExecutor) {
  const auto times = std::make_shared<int>(0);
  const auto hops = resume_on(counting_executor{times});
  sync_wait(hops);
  sync_wait(hops);
  EXPECT_EQ(*times, 2);
  gate held{s};
  const auto there = s.completion().resume_on(counting_executor{times});
  std::vector<std::promise<void>> resumed(2);
  for (std::promise<void>& told : resumed) {
    [](const auto& awaited, std::promise<void>& tell) -> detached {
      co_await awaited;
      tell.set_value();
    }(there, told);
  }
  held.open();
  for (std::promise<void>& told : resumed) told.get_future().get();
  EXPECT_EQ(*times, 4);
}

TEST_P(CompletionContinuation, AContinuationRunsEvenIfItsExecutorThrows) {
  gate held{s};
  std::promise<void> called;
  s.completion().then([](continuation) { throw std::runtime_error{"full"}; },
                      [&] { called.set_value(); });
  held.open();
  called.get_future().get();
}

TEST_P(CompletionContinuation, TheStreamMayBeDestroyedInAContinuation) {
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

TEST_P(CompletionContinuation, AContinuationCanWaitAndAwait) {
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
    other.completion().wait();  // blocks a reactor thread, and must still return
    told.set_value(seen * 10 + x.data()[0]);
  }(c, t, answer);
  first.open();
  EXPECT_EQ(answer.get_future().get(), 56);
}

}  // namespace
}  // namespace weir
