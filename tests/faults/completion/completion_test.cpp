// SPDX-License-Identifier: Apache-2.0
// completion_test.cpp - completions with failing driver calls: no wait hangs, and each waiter is
// notified once.
#include <weir/completion/completion.hpp>
#include <weir/completion/executor.hpp>
#include <weir/completion/when.hpp>
#include <weir/stream/stream.hpp>

#include <deque>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "faults/completion/completion_fixture.hpp"
#include "support/closure_probe.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::await;
using test::await_with_timeout;
using test::closure_probe;
using test::closure_stats;
using test::CompletionFaults;
using test::failure_of;
using test::gate;
using test::recorded_outcome;

// Either creating or polling one completion fails; the others succeed.
TEST_F(CompletionFaults, AtMostOneCompletionFailsWithAFailedCall) {
  with_each_call_failing([](const stream& s, std::string_view failing) {
    int bad = 0;
    for (int i = 0; i < 3; ++i) {
      const auto c = make_or_expect_failure([&] { return s.completion(); }, failing);
      const errc outcome = c ? test::result_of([&] { c->wait(); }) : errc::system_not_ready;
      if (outcome == errc::success) continue;
      EXPECT_EQ(outcome, errc::system_not_ready);
      ++bad;
    }
    EXPECT_LE(bad, 1);
  });
}

TEST_F(CompletionFaults, AllWaitersReceiveTheSameOutcomeIfACallFails) {
  with_each_call_failing([](const stream& s, std::string_view failing) {
    std::deque<recorded_outcome> all(4);
    std::optional<completion> c;
    {
      gate held{s};
      c = make_or_expect_failure([&] { return s.completion(); }, failing);
      if (!c) return;
      std::vector<std::jthread> threads;
      for (recorded_outcome& each : all) {
        threads.emplace_back([&] {
          const auto failure = failure_of([&] { c->wait(); });
          if (failure) {
            EXPECT_STREQ(failure->call(), "weir::completion::wait");
          }
          each.record(failure ? failure->result() : errc::success);
        });
      }
      held.open();
    }
    expect_completed_once(all);
    for (const recorded_outcome& each : all)
      EXPECT_EQ(each.outcome, c->status());  // all waiters get one outcome
  });
}

TEST_F(CompletionFaults, EveryAwaiterIsResumedOnceIfACallFails) {
  with_each_call_failing([&](const stream& s, std::string_view failing) {
    std::deque<recorded_outcome> all;
    gate held{s};
    for (int i = 0; i < 10; ++i) {
      const auto c = make_or_expect_failure([&] { return s.completion(); }, failing);
      if (!c) continue;
      await(*c, all.emplace_back());
      await_with_timeout(*c, all.emplace_back());
      await_with_timeout(when_all(*c, completion{}), all.emplace_back());
      await_with_timeout(when_any(*c, *c), all.emplace_back());
    }
    held.open();
    expect_completed_once(all);
  });
}

TEST_F(CompletionFaults, AFunctionIsCalledAndDestroyedOnceIfACallFails) {
  with_each_call_failing([](const stream& s, std::string_view failing) {
    closure_stats f;
    std::deque<recorded_outcome> all;
    int started = 0;
    {
      gate held{s};
      for (int i = 0; i < 5; ++i) {
        const auto c = make_or_expect_failure([&] { return s.completion(); }, failing);
        if (!c) continue;
        recorded_outcome& inline_answer = all.emplace_back();
        c->then([&inline_answer, w = closure_probe{f}](errc outcome) {
          inline_answer.record(outcome);
        });
        recorded_outcome& executor_answer = all.emplace_back();
        const auto later = [](continuation what) { std::thread{what}.detach(); };
        c->then(later, [&executor_answer, w = closure_probe{f}](errc outcome) {
          executor_answer.record(outcome);
        });
        started += 2;
      }
      held.open();
    }
    expect_completed_once(all);
    while (f.destructions != started) std::this_thread::yield();
  });
}

}  // namespace
}  // namespace weir
