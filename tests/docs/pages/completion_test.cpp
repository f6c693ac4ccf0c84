// SPDX-License-Identifier: Apache-2.0
// completion_test.cpp - the code that docs/guide/completion.md shows.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <stop_token>
#include <utility>
#include <vector>
#include <weir/weir.hpp>

namespace {

TEST(CompletionPage, ACompletionIsPolledAndWaitedFor) {
  using namespace std::chrono_literals;
  const weir::device gpu;
  const weir::stream s{gpu};
  // [completion-ways]
  weir::completion c = s.completion();

  bool done = c.done();           // queries; throws the error of the work
  weir::errc how = c.status();    // returns a code: success, not_ready or the error
  c.wait();                       // blocks; throws the error of the work
  bool in_time = c.wait_for(5s);  // false on timeout; the work continues
  // [/completion-ways]
  EXPECT_TRUE(in_time && c.done());
  static_cast<void>(done);
  static_cast<void>(how);
}

TEST(CompletionPage, AContinuationRunsAfterTheWork) {
  const weir::device gpu;
  const weir::stream s{gpu};
  std::promise<weir::errc> finished;
  std::promise<void> also;
  const auto pool = [](weir::continuation c) { c(); };
  // [completion-then]
  s.completion().then([&](weir::errc outcome) { finished.set_value(outcome); });
  s.completion().then(pool, [&] { also.set_value(); });  // calls the function on an executor
  // [/completion-then]
  EXPECT_EQ(finished.get_future().get(), weir::errc::success);
  also.get_future().get();
}

TEST(CompletionPage, AProgramMayPollTheReactor) {
  const weir::device gpu;
  const weir::stream s{gpu};
  std::atomic<bool> resumed{false};
  s.completion().then([&] { resumed = true; });
  // [completion-poll]
  weir::completion_poller poller{gpu};  // the reactor thread leaves polling to the caller
  while (!resumed) poller.poll();       // resumes what is due, on this thread
  // [/completion-poll]
}

// [completion-task]
weir::task<int> last_of(weir::stream_ref s, weir::pinned_buffer<int>& x) {
  weir::fill(s, x, 7);
  co_await s.completion();  // resumes about 4 us after the work on a GPU
  co_return x.data()[x.size() - 1];
}
// [/completion-task]

TEST(CompletionPage, ATaskReturnsItsValue) {
  const weir::device gpu;
  const weir::stream s{gpu};
  weir::pinned_buffer<int> x{100};
  // [completion-sync-wait]
  int value = weir::sync_wait(last_of(s, x));  // in a coroutine: co_await last_of(s, x)
  // [/completion-sync-wait]
  EXPECT_EQ(value, 7);
}

TEST(CompletionPage, ACoroutineResumesOnAnExecutor) {
  const weir::device gpu;
  const weir::stream of_gpu{gpu};
  const auto at_once = [](weir::continuation c) { c(); };
  weir::sync_wait([](weir::stream_ref s, auto pool) -> weir::task<> {
    // [completion-executor]
    co_await s.completion().resume_on(pool);  // resumes on the pool if it has to wait
    co_await weir::resume_on(pool);           // continues on the pool, until the next wait
    // [/completion-executor]
  }(of_gpu, at_once));
}

TEST(CompletionPage, AFutureReturnsAPinnedBuffer) {
  const weir::device gpu;
  const weir::stream s{gpu};
  // [completion-future]
  weir::future<weir::pinned_buffer<int>> f = s.enqueue([](weir::stream_ref on) {
    weir::pinned_buffer<int> result{1000};
    weir::fill(on, result, 7);
    return result;
  });
  weir::pinned_buffer<int> there = std::move(f).get();  // or co_await std::move(f)
  // [/completion-future]
  EXPECT_EQ(there.data()[999], 7);
}

weir::task<int> part(weir::stream_ref s, int number) {
  co_await s.completion();
  co_return number;
}

TEST(CompletionPage, WhenAllAndWhenAnyCombineCompletions) {
  const weir::device gpu;
  const weir::stream one{gpu};
  const weir::stream other{gpu};
  weir::sync_wait([](weir::stream_ref s, weir::stream_ref t,
                     std::vector<weir::completion> many) -> weir::task<> {
    // [completion-when]
    co_await weir::when_all(s.completion(), t.completion());
    co_await weir::when_all(many);  // a vector, array or span
    std::size_t first = co_await weir::when_any(s.completion(), t.completion());
    auto [a, b] = co_await weir::when_all(part(s, 1), part(t, 2));  // runs the tasks concurrently
    // [/completion-when]
    EXPECT_LT(first, 2U);
    EXPECT_EQ(a + b, 3);
  }(one, other, {one.completion(), other.completion()}));
}

TEST(CompletionPage, AnAwaitHasADeadlineOrAStopToken) {
  using namespace std::chrono_literals;
  const weir::device gpu;
  const weir::stream s{gpu};
  std::stop_source source;
  weir::sync_wait([](weir::completion c, std::stop_token token) -> weir::task<> {
    const auto deadline = std::chrono::steady_clock::now() + 1h;
    // [completion-limits]
    bool in_time = co_await c.within(5s);                        // or c.until(deadline)
    weir::wait_status how = co_await weir::stop_when(c, token);  // done, or stopped
    weir::wait_status timed_status = co_await weir::stop_when(c, token, 5s);  // or timed_out
    // [/completion-limits]
    EXPECT_TRUE(in_time && co_await c.until(deadline));
    EXPECT_EQ(how, weir::wait_status::done);
    EXPECT_EQ(timed_status, weir::wait_status::done);
  }(s.completion(), source.get_token()));
}

}  // namespace
