// completion_test.cpp - completions while the driver refuses: nothing hangs, nothing is lost, everybody is told once.
#include <weir/completion/completion.hpp>
#include <weir/completion/executor.hpp>
#include <weir/stream/stream.hpp>
#include <weir/completion/when.hpp>

#include <deque>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "faults/completion/completion_fixture.hpp"
#include "support/gate.hpp"
#include "support/witness.hpp"

namespace weir {
namespace {

using test::answer;
using test::await;
using test::await_with_an_end;
using test::CompletionFaults;
using test::failure_of;
using test::fate;
using test::gate;
using test::witness;

// One that fails is refused, or its question is; those beside it are good.
TEST_F(CompletionFaults, MakingThem) {
  with_each_call_failing([](const stream& s, std::string_view failing) {
    int bad = 0;
    for (int i = 0; i < 3; ++i) {
      const auto c = made_or_told([&] { return s.completion(); }, failing);
      const errc outcome = c ? test::result_of([&] { c->wait(); }) : errc::system_not_ready;
      if (outcome == errc::success) continue;
      EXPECT_EQ(outcome, errc::system_not_ready);
      ++bad;
    }
    EXPECT_LE(bad, 1);
  });
}

TEST_F(CompletionFaults, Waiting) {
  with_each_call_failing([](const stream& s, std::string_view failing) {
    std::deque<answer> all(4);
    std::optional<completion> c;
    {
      gate held{s};
      c = made_or_told([&] { return s.completion(); }, failing);
      if (!c) return;
      std::vector<std::jthread> threads;
      for (answer& each : all) {
        threads.emplace_back([&] {
          const auto failure = failure_of([&] { c->wait(); });
          if (failure) {
            EXPECT_STREQ(failure->call(), "weir::completion::wait");
          }
          each.tell(failure ? failure->result() : errc::success);
        });
      }
      held.open();
    }
    expect_told_once(all);
    for (const answer& each : all) EXPECT_EQ(each.outcome, c->status());  // all got the same answer
  });
}

TEST_F(CompletionFaults, Awaiting) {
  with_each_call_failing([&](const stream& s, std::string_view failing) {
    std::deque<answer> all;
    gate held{s};
    for (int i = 0; i < 10; ++i) {
      const auto c = made_or_told([&] { return s.completion(); }, failing);
      if (!c) continue;
      await(*c, all.emplace_back());
      await_with_an_end(*c, all.emplace_back());
      await_with_an_end(when_all(*c, completion{}), all.emplace_back());
      await_with_an_end(when_any(*c, *c), all.emplace_back());
    }
    held.open();
    expect_told_once(all);
  });
}

TEST_F(CompletionFaults, CallingAFunction) {
  with_each_call_failing([](const stream& s, std::string_view failing) {
    fate f;
    std::deque<answer> all;
    int begun = 0;
    {
      gate held{s};
      for (int i = 0; i < 5; ++i) {
        const auto c = made_or_told([&] { return s.completion(); }, failing);
        if (!c) continue;
        answer& here = all.emplace_back();
        c->then([&here, w = witness{f}](errc outcome) { here.tell(outcome); });
        answer& there = all.emplace_back();
        const auto later = [](continuation what) { std::thread{what}.detach(); };
        c->then(later, [&there, w = witness{f}](errc outcome) { there.tell(outcome); });
        begun += 2;
      }
      held.open();
    }
    expect_told_once(all);
    while (f.destructions != begun) std::this_thread::yield();
  });
}

}  // namespace
}  // namespace weir
