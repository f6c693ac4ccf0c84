// SPDX-License-Identifier: Apache-2.0
// completion_out_of_memory_test.cpp - completions without free memory: either created and awaited,
// or refused.
#include <weir/completion/completion.hpp>
#include <weir/completion/future.hpp>
#include <weir/device/device.hpp>
#include <weir/event/event.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <exception>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "api/completion/completion_access.hpp"
#include "embedded/core/out_of_memory.hpp"
#include "support/closure_probe.hpp"
#include "support/fault_table.hpp"
#include "support/fresh_process.hpp"
#include "support/gate.hpp"
#include "support/yield_for.hpp"

namespace weir {
namespace {

using detail::fault_table;
using embedded::out_of_memory;
using test::closure_probe;
using test::closure_stats;
using test::gate;
using namespace std::chrono_literals;

// Runs with the engine's notifications, and with polled completions.
class CompletionOutOfMemory : public ::testing::TestWithParam<bool> {
 protected:
  CompletionOutOfMemory() {
    if (GetParam()) calls.emplace();
    stream{gpu}.completion().wait();  // creates what all streams share
  }

  // Makes each allocation of change() fail in turn, until change() succeeds. After each failure
  // calls unchanged(). Both get a new stream, which is blocked during change() if is_held.
  template <class Change, class Unchanged>
  void with_each_allocation_failing(const Change& change, const Unchanged& unchanged,
                                    bool is_held = true) {
    for (int after = 0;; ++after) {
      SCOPED_TRACE(testing::Message() << "after " << after);
      ASSERT_LT(after, 1000);
      const stream s{gpu};
      bool done = false;
      {
        std::optional<gate> held;
        if (is_held) held.emplace(s);
        try {
          const out_of_memory now{after};
          change(s);
          done = true;
        } catch (const std::exception&) {
        }
      }
      if (done) break;
      unchanged(s);
    }
  }

  device gpu;
  std::optional<fault_table> calls;
};

INSTANTIATE_TEST_SUITE_P(Ways, CompletionOutOfMemory, ::testing::Values(false, true),
                         [](const auto& of) { return of.param ? "Asked" : "AsItComes"; });

void wait_for(const std::atomic<int>& count, int wanted) {
  while (count != wanted) std::this_thread::yield();
}

TEST_P(CompletionOutOfMemory, AStreamStaysUsableIfACompletionCannotBeAllocated) {
  completion c;
  with_each_allocation_failing([&](const stream& s) { c = s.completion(); },
                               [](const stream& s) { s.completion().wait(); });
  c.wait();
}

TEST_P(CompletionOutOfMemory, PendingCompletionsSurviveAFailedAllocation) {
  constexpr int many = 40;  // more than the initial capacity
  for (int before = 0; before < many; ++before) {
    for (int after = 0; after < 4; ++after) {
      const stream s{gpu};
      std::vector<completion> all;
      all.reserve(many);
      gate held{s};
      for (int i = 0; i < before; ++i) all.push_back(s.completion());
      try {
        const out_of_memory now{after};
        all.push_back(s.completion());
      } catch (const std::bad_alloc&) {
      }
      all.push_back(s.completion());
      EXPECT_FALSE(all.back().done());
      held.open();
      for (const completion& c : all) c.wait();
    }
  }
}

TEST_P(CompletionOutOfMemory, AFunctionIsCalledOrDestroyedOnceIfAnAllocationFails) {
  closure_stats f;
  int started = 0;
  with_each_allocation_failing(
      [&](const stream& s) {
        const completion c = s.completion();
        ++started;
        c.then([w = closure_probe{f}] { w.record_run(); });
      },
      [&](const stream& s) {
        s.sync();
        EXPECT_EQ(f.runs, 0);
        EXPECT_EQ(f.destructions, started);
      });
  wait_for(f.runs, 1);
  wait_for(f.destructions, started);
}

// A waiter that cannot be registered for the engine's notification is still notified.
TEST_P(CompletionOutOfMemory, WaitingForACompletionNeedsNoMemory) {
  struct waiter : detail::completion_waiter {
    std::atomic<int> times{0};
  };
  constexpr int many = 40;
  const stream s{gpu};
  gate held{s};
  const completion c = s.completion();
  std::vector<waiter> all(many);
  for (waiter& each : all) {
    each.on_complete = [](detail::completion_waiter& self, errc) noexcept {
      ++static_cast<waiter&>(self).times;
    };
    const out_of_memory now;
    EXPECT_TRUE(detail::add_waiter(*detail::completion_access::queue(c),
                                   detail::completion_access::ticket(c), each));
  }
  held.open();
  for (const waiter& each : all) wait_for(each.times, 1);
  const out_of_memory now;
  c.wait();
  EXPECT_TRUE(c.done());
}

// If the deadline cannot be stored, the wait does not begin.
TEST_P(CompletionOutOfMemory, AWaitWithADeadlineDoesNotBeginIfAnAllocationFails) {
  struct suspended_coroutine {
    struct promise_type {
      suspended_coroutine get_return_object() noexcept {
        return {std::coroutine_handle<promise_type>::from_promise(*this)};
      }
      std::suspend_always initial_suspend() noexcept { return {}; }
      std::suspend_always final_suspend() noexcept { return {}; }
      void return_void() noexcept {}
      void unhandled_exception() noexcept { failed = true; }
      bool failed = false;
    };
    std::coroutine_handle<promise_type> frame;
  };
  const stream s{gpu};
  gate held{s};
  const completion c = s.completion();
  std::atomic<int> resumed_count{0};
  const auto wait = [&]() -> suspended_coroutine {
    static_cast<void>(co_await c.within(1h));
    ++resumed_count;
  };
  std::vector<suspended_coroutine> suspended;
  for (int i = 0; i < 100; ++i) {
    const suspended_coroutine one = wait();
    {
      const out_of_memory now;
      one.frame.resume();
    }
    if (one.frame.promise().failed) {
      one.frame.destroy();
    } else {
      suspended.push_back(one);
    }
  }
  held.open();
  wait_for(resumed_count, static_cast<int>(suspended.size()));
  for (const suspended_coroutine& one : suspended) {
    while (!one.frame.done()) std::this_thread::yield();
    one.frame.destroy();
  }
}

TEST_P(CompletionOutOfMemory, AnEventStaysUsableIfACompletionCannotBeAllocated) {
  completion c;
  with_each_allocation_failing(
      [&](const stream& s) {
        const event e = s.record();
        c = e.completion();
      },
      [](const stream& s) {
        const event e = s.record();
        e.completion().wait();
      });
  c.wait();
}

// The value is destroyed once. If no completion can be created, the call waits for the work.
TEST_P(CompletionOutOfMemory, AFutureValueIsDestroyedOnceIfAnAllocationFails) {
  closure_stats f;
  int made = 0;
  with_each_allocation_failing(
      [&](const stream& s) {
        static_cast<void>(s.enqueue([&] {
          ++made;
          return closure_probe{f};
        }));
      },
      [&](const stream&) { EXPECT_EQ(f.destructions, made); }, false);
  wait_for(f.destructions, made);
}

// The reactor thread cannot start: blocked threads poll themselves, and operations that need the
// thread are refused.
void check_without_reactor_thread(bool polled) {
  test::in_a_fresh_process([polled] {
    const device gpu;
    std::optional<fault_table> table;
    if (polled) table.emplace();
    const stream s{gpu};
    std::optional<gate> held{s};
    const completion c = s.completion();
    bool refused = false;
    bool called = false;
    try {
      auto call = [&] { called = true; };
      const out_of_memory now;
      c.then(call);
    } catch (const std::exception&) {
      refused = true;
    }
    std::jthread opens{[&] {
      test::yield_for(std::chrono::milliseconds{1});
      held->open();
    }};
    bool in_time = false;
    {
      const out_of_memory now;
      in_time = c.wait_for(1h);
    }
    opens.join();
    return WEIR_HOLDS(refused) && WEIR_HOLDS(!called) && WEIR_HOLDS(in_time) &&
           WEIR_HOLDS(c.done());
  });
}

TEST(CompletionOutOfThreads, AWaitEndsWithoutTheReactorThread) {
  check_without_reactor_thread(false);
}
TEST(CompletionOutOfThreads, AWaitForPolledEventsEndsWithoutTheReactorThread) {
  check_without_reactor_thread(true);
}

}  // namespace
}  // namespace weir
