// completion_test.cpp - completions while the driver refuses: nothing hangs, nothing is lost, everybody is told once.
#include <weir/capture.hpp>
#include <weir/completion.hpp>
#include <weir/context.hpp>
#include <weir/device.hpp>
#include <weir/event.hpp>
#include <weir/fill.hpp>
#include <weir/future.hpp>
#include <weir/graph.hpp>
#include <weir/graph_exec.hpp>
#include <weir/pinned_buffer.hpp>
#include <weir/stream.hpp>
#include <weir/when.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "api/stream_state.hpp"
#include "faults/every_call.hpp"
#include "reactor/event_store.hpp"
#include "support/detached.hpp"
#include "support/gate.hpp"
#include "support/own_table.hpp"
#include "support/witness.hpp"

namespace weir {
namespace {

using test::counts_of;
using test::detached;
using test::driver_function;
using test::driver_table;
using test::failing_table;
using test::failure_of;
using test::fate;
using test::for_each_call;
using test::gate;
using test::own_table;
using test::witness;
using namespace std::chrono_literals;

constexpr abi::CUresult refused = abi::CUDA_ERROR_SYSTEM_NOT_READY;  // one that nobody treats specially

// How somebody's wait has ended.
struct answer {
  std::atomic<int> told{0};
  errc outcome = errc::not_ready;

  void tell(errc how) {
    outcome = how;
    ++told;
  }
};

detached await(completion c, answer& to) { to.tell(co_await c.outcome()); }

// Throws what the work failed with.
template <class Wait>
detached await_with_an_end(Wait wait, answer& to) {
  errc how = errc::success;
  try {
    co_await wait.within(1h);
  } catch (const error& e) {
    how = e.result();
  }
  to.tell(how);
}

class CompletionFaults : public ::testing::Test {
 protected:
  static inline std::atomic<int> live_events{0};

  // run(stream, name) once as it is, and then once for each driver call that it makes, which fails; `name` is that call's.
  // Events that it leaves are few.
  template <class Run>
  void with_each_call_failing(const Run& run) {
    std::vector<int> counts;
    {
      gate{stream{gpu}};  // makes what all gates have
      const failing_table calls;
      const stream s{gpu};
      empty_the_store();
      const std::vector<int> before = counts_of(calls);
      run(s, std::string_view{});
      counts = counts_of(calls);
      constexpr int most = 12;  // the reactor's thread may ask any number of times
      for (std::size_t i = 0; i < counts.size(); ++i) {
        const bool is_the_gates = test::driver_functions[i].symbol == "cuStreamWaitValue32_v2";
        counts[i] = is_the_gates ? 0 : std::min(counts[i] - before[i], most);
      }
    }
    const int before = live_events;
    for_each_call(counts, [&](const driver_function& function, int nth) {
      failing_table faults;
      const stream s{gpu};
      empty_the_store();
      function.fail(faults, nth, refused);
      run(s, std::string_view{function.name});
      function.fail(faults, 1'000'000, refused);  // the stream's end is no part of it
    });
    constexpr int few = 20;
    while (live_events - before > few) std::this_thread::yield();
  }

  // Of the events that nobody uses just now, so that new ones have to be made.
  void empty_the_store() const {
    const context_ref context = gpu.primary_context();
    const unsigned long long number = detail::number_of(context.get(), call_site::current());
    std::vector<abi::CUevent> kept;
    const int before = live_events;
    while (live_events == before) {
      abi::CUevent event = nullptr;
      ASSERT_EQ(detail::take_event(context.get(), number, event).code, errc::success);
      kept.push_back(event);
    }
    detail::destroy_events(kept);
  }

  // What a call that fails throws, while a completion is being made. None: it did not fail.
  template <class Make>
  static std::optional<completion> made_or_told(const Make& make, std::string_view failing) {
    std::optional<completion> made;
    if (const auto failure = failure_of([&] { made = make(); })) {
      EXPECT_EQ(failure->result(), errc::system_not_ready);
      EXPECT_EQ(failure->call(), failing);
      EXPECT_GT(failure->where().line(), 0U);
    }
    return made;
  }

  // Past the calls that fail.
  static void sync(const stream& s) { EXPECT_EQ(own_table::below().cuStreamSynchronize(s.get()), abi::CUDA_SUCCESS); }

  static void expect_told_once(const std::deque<answer>& all) {
    for (const answer& each : all) {
      while (each.told == 0) std::this_thread::yield();
      EXPECT_TRUE(each.outcome == errc::success || each.outcome == errc::system_not_ready);
    }
    for (const answer& each : all) EXPECT_EQ(each.told, 1);
  }

  const own_table counting{[](driver_table& t) {
    t.cuEventCreate = [](abi::CUevent* event, unsigned flags) {
      ++live_events;
      return own_table::below().cuEventCreate(event, flags);
    };
    t.cuEventDestroy_v2 = [](abi::CUevent event) {
      --live_events;
      return own_table::below().cuEventDestroy_v2(event);
    };
  }};
  device gpu;
};

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

TEST_F(CompletionFaults, OfAnEvent) {
  with_each_call_failing([](const stream& s, std::string_view failing) {
    std::deque<answer> all;
    std::optional<event> e;
    gate held{s};
    if (const auto failure = failure_of([&] { e.emplace(s.record()); })) {
      EXPECT_EQ(failure->call(), failing);
      return;
    }
    const auto c = made_or_told([&] { return e->completion(); }, failing);
    if (c) {
      await(*c, all.emplace_back());
      await(*c, all.emplace_back());
    }
    e.reset();
    held.open();
    expect_told_once(all);
  });
}

TEST_F(CompletionFaults, OfALaunch) {
  pinned_buffer<int> x{1};
  stream t{gpu};
  const graph g = capture(t, [&](capture_scope& c) { fill(c.stream(), x, 3); });
  const graph_exec run = g.instantiate();
  with_each_call_failing([&](const stream& s, std::string_view failing) {
    std::deque<answer> all;
    gate held{s};
    const auto c = made_or_told([&] { return run.launch_async(s); }, failing);
    if (c) await(*c, all.emplace_back());
    const auto d = made_or_told([&] { return run.upload_async(s); }, failing);
    if (d) await(*d, all.emplace_back());
    held.open();
    expect_told_once(all);
    sync(s);
  });
}

// The value is destroyed once the work is done, or when nothing can be told about that.
TEST_F(CompletionFaults, OfAValue) {
  with_each_call_failing([](const stream& s, std::string_view failing) {
    fate f;
    int begun = 0;
    std::deque<answer> all;
    {
      std::vector<future<witness>> values;
      for (int i = 0; i < 4; ++i) {
        const auto failure = failure_of([&] {
          values.push_back(s.enqueue_async([&] {
            ++begun;
            return witness{f};
          }));
        });
        if (failure) {
          EXPECT_EQ(failure->result(), errc::system_not_ready);
          EXPECT_EQ(failure->call(), failing);
        }
      }
      if (!values.empty()) await(values.front().completion(), all.emplace_back());
    }
    expect_told_once(all);
    while (f.destructions != begun) std::this_thread::yield();
  });
}

}  // namespace
}  // namespace weir
