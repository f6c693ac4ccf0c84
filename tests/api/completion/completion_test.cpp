// SPDX-License-Identifier: Apache-2.0
// completion_test.cpp - completions, queried and waited for, with notifications of the engine and
// with polling.
#include <weir/completion/completion.hpp>
#include <weir/core/sync_guard.hpp>
#include <weir/device/context.hpp>
#include <weir/device/device.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

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
#include "support/completion_modes.hpp"
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

class Completion : public test::completion_modes {};
INSTANTIATE_TEST_SUITE_P(Ways, Completion, ::testing::Values(false, true), test::name_of_mode);

TEST_P(Completion, AnEmptyCompletionIsDone) {
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
TEST_P(Completion, ACompletionOfAnEmptyStreamCompletes) {
  const completion c = s.completion();
  c.wait();
  EXPECT_TRUE(c.done());
  EXPECT_EQ(c.status(), errc::success);
}

TEST_P(Completion, ACompletionFollowsTheWorkQueuedBeforeIt) {
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

TEST_P(Completion, ACompletionDoesNotWaitForLaterWork) {
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

// Rule 86.
TEST_P(Completion, DroppedCompletionsDoNotAffectLaterOnes) {
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

// Rules 84 and 89: destroying the stream does not end its completions.
TEST_P(Completion, ACompletionOutlivesItsStream) {
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

// A completion queue is reused by another stream, and completions of the earlier stream keep their
// status.
TEST_P(Completion, CompletionsStayValidWhenStreamsAreCreatedAndDestroyed) {
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

TEST_P(Completion, ManyThreadsCanWaitForOneCompletion) {
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

TEST_P(Completion, DefaultStreamsHaveCompletions) {
  const auto current = gpu.primary_context();
  detail::driver().cuCtxSetCurrent(current.get());
  for (const stream_ref t : {stream_ref::legacy(), stream_ref::per_thread(),
                             stream_ref{static_cast<CUstream_st*>(nullptr)}}) {
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

TEST_P(Completion, ForeignStreamsHaveCompletions) {
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

TEST_P(Completion, ACompletionOfAClosedStreamIsRefused) {
  stream t{gpu};
  t.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(t.completion()); }), errc::closed);
}

TEST_P(Completion, AWaitRethrowsAHostFunctionException) {
  gate held{s};
  launch_host(s, [] { throw std::runtime_error{"thrown in a host function"}; });
  const completion c = s.completion();
  held.open();
  while (!c.done()) std::this_thread::yield();  // a query leaves the exception for a wait
  EXPECT_THROW(c.wait(), std::runtime_error);
  c.wait();  // the exception is thrown once
}

// The resumed thread is not the thread whose default stream it is.
TEST_P(Completion, AnAwaitRethrowsAHostFunctionExceptionOfADefaultStream) {
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

TEST_P(Completion, ASyncGuardRefusesTheWait) {
  gate held{s};
  const completion c = s.completion();
  const sync_guard none{sync_rule::forbidden};
  EXPECT_EQ(result_of([&] { c.wait(); }), errc::not_permitted);
  EXPECT_FALSE(c.done());
  held.open();
}

TEST_P(Completion, WaitingForACompletionInAHostFunctionIsRefused) {
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
