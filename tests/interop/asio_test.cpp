// SPDX-License-Identifier: Apache-2.0
// asio_test.cpp - completions with Asio: tokens, executors, memory.
#include <weir/interop/asio.hpp>

#include <weir/capture/capture.hpp>
#include <weir/core/sync_guard.hpp>
#include <weir/graph/graph.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

#include <asio/awaitable.hpp>
#include <asio/bind_allocator.hpp>
#include <asio/bind_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/deferred.hpp>
#include <asio/io_context.hpp>
#include <asio/io_context_strand.hpp>
#include <asio/post.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/completion_modes.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::gate;
using namespace std::chrono_literals;

class Asio : public test::completion_modes {
 protected:
  asio::io_context io;
};
INSTANTIATE_TEST_SUITE_P(Ways, Asio, ::testing::Values(false, true), test::name_of_mode);

TEST_P(Asio, ACallbackRunsOnTheGivenExecutor) {
  std::thread::id handler_thread;
  gate held{s};
  async_wait(io, s.completion(), [&](std::exception_ptr failure) {
    EXPECT_EQ(failure, nullptr);
    handler_thread = std::this_thread::get_id();
  });
  EXPECT_EQ(io.poll(), 0U);
  held.open();
  EXPECT_EQ(io.run(), 1U);  // the pending wait counts as work, so run() does not return early
  EXPECT_EQ(handler_thread, std::this_thread::get_id());
}

TEST_P(Asio, TheAssociatedExecutorOfACallbackTakesPrecedence) {
  asio::io_context other;
  bool called = false;
  gate held{s};
  async_wait(other, s.completion(),
             asio::bind_executor(io, [&](std::exception_ptr) { called = true; }));
  held.open();
  EXPECT_EQ(other.run(), 0U);
  EXPECT_EQ(io.run(), 1U);
  EXPECT_TRUE(called);
}

TEST_P(Asio, ACallbackWithoutAnExecutorRunsOnTheReactorThread) {
  std::promise<std::thread::id> handler_thread;
  std::future<std::thread::id> called = handler_thread.get_future();
  gate held{s};
  async_wait(s.completion(),
             [&](std::exception_ptr) { handler_thread.set_value(std::this_thread::get_id()); });
  EXPECT_EQ(called.wait_for(0s), std::future_status::timeout);
  held.open();
  EXPECT_NE(called.get(), std::this_thread::get_id());
}

// An empty or finished completion also calls its handler later and not inside async_wait().
TEST_P(Asio, ACallbackIsNeverCalledInsideAsyncWait) {
  const completion done = s.completion();
  done.wait();
  for (const completion& c : {completion{}, done}) {
    bool called = false;
    async_wait(io, c, [&](std::exception_ptr) { called = true; });
    EXPECT_FALSE(called);
    io.run();
    EXPECT_TRUE(called);
    io.restart();

    std::promise<std::thread::id> handler_thread;
    async_wait(c,
               [&](std::exception_ptr) { handler_thread.set_value(std::this_thread::get_id()); });
    EXPECT_NE(handler_thread.get_future().get(), std::this_thread::get_id());
  }
}

TEST_P(Asio, AnAwaitableResumesAfterTheWork) {
  pinned_buffer<int> x{1};
  x.data()[0] = 0;
  gate held{s};
  const auto work = [&](std::thread::id& handler_thread) -> asio::awaitable<int> {
    fill(s, x, 3);
    co_await async_wait(s.completion(), asio::use_awaitable);
    const int seen = x.data()[0];
    fill(s, x, 4);
    co_await async_wait(s.completion(), asio::use_awaitable);
    handler_thread = std::this_thread::get_id();
    co_return seen * 10 + x.data()[0];
  };
  std::thread::id handler_thread;
  std::future<int> answer = asio::co_spawn(io, work(handler_thread), asio::use_future);
  io.poll();
  held.open();
  io.run();
  EXPECT_EQ(answer.get(), 34);
  EXPECT_EQ(handler_thread, std::this_thread::get_id());
}

TEST_P(Asio, UseFutureReturnsAFutureOfTheCompletion) {
  gate held{s};
  std::future<void> end = async_wait(s.completion(), asio::use_future);
  EXPECT_EQ(end.wait_for(0s), std::future_status::timeout);
  held.open();
  end.get();
}

TEST_P(Asio, ADeferredWaitStartsWhenItIsCalled) {
  gate held{s};
  auto later = async_wait(s.completion(), asio::experimental::deferred);
  held.open();
  s.sync();
  bool called = false;
  std::move(later)(asio::bind_executor(io, [&](std::exception_ptr) { called = true; }));
  io.run();
  EXPECT_TRUE(called);
}

TEST_P(Asio, ADetachedWaitKeepsItsContextRunning) {
  gate held{s};
  async_wait(io, s.completion(), asio::detached);
  held.open();
  io.run();
}

TEST_P(Asio, CallbacksRunInTheirStrand) {
  constexpr int many = 200;
  asio::thread_pool pool{4};
  const auto strand = asio::make_strand(pool);
  int count = 0;  // guarded by the strand
  std::atomic<int> outside{0};
  gate held{s};
  for (int i = 0; i < many; ++i) {
    async_wait(s.completion(), asio::bind_executor(strand, [&, strand](std::exception_ptr) {
                 if (!strand.running_in_this_thread()) ++outside;
                 ++count;
               }));
  }
  held.open();
  pool.join();
  EXPECT_EQ(count, many);
  EXPECT_EQ(outside, 0);
}

TEST_P(Asio, LegacyExecutorsAreSupported) {
  asio::io_context::strand strand{io};
  bool inside = false;
  gate held{s};
  async_wait(strand, s.completion(),
             [&](std::exception_ptr) { inside = strand.running_in_this_thread(); });
  held.open();
  io.run();
  EXPECT_TRUE(inside);
}

TEST_P(Asio, ManyWaitsCanBePendingAtOnce) {
  constexpr int streams = 8;
  constexpr int waits = 500;
  asio::thread_pool pool{2};
  std::atomic<int> handler_calls{0};
  std::vector<stream> all;
  std::vector<std::unique_ptr<gate>> held;
  for (int i = 0; i < streams; ++i) {
    all.emplace_back(gpu);
    held.push_back(std::make_unique<gate>(all.back()));
    for (int k = 0; k < waits; ++k)
      async_wait(pool, all.back().completion(), [&](std::exception_ptr) { ++handler_calls; });
  }
  for (int i = streams; i-- > 0;) held[i]->open();
  pool.join();
  EXPECT_EQ(handler_calls, streams * waits);
}

asio::awaitable<void> wait_often(stream_ref s, int times, std::atomic<int>& done) {
  for (int i = 0; i < times; ++i) {
    buffer<int> x{s, 1};
    fill(s, x, i);
    co_await async_wait(s.completion(), asio::use_awaitable);
  }
  ++done;
}

TEST_P(Asio, CoroutinesCanAwaitOnSeveralThreads) {
  constexpr int coroutines = 16;
  asio::thread_pool pool{3};
  std::vector<stream> all;
  for (int i = 0; i < 4; ++i) all.emplace_back(gpu);
  std::atomic<int> done{0};
  for (int i = 0; i < coroutines; ++i) {
    asio::co_spawn(pool, wait_often(all[i % all.size()], 50, done), asio::detached);
  }
  pool.join();
  EXPECT_EQ(done, coroutines);
}

// A handler is moved and never copied. Its memory comes from its allocator and is freed before the
// call.
struct counts {
  std::size_t allocated = 0;
  std::size_t alive = 0;
};

template <class T>
struct counting_allocator {
  using value_type = T;
  explicit counting_allocator(std::shared_ptr<counts> c) : of(std::move(c)) {}
  template <class U>
  counting_allocator(const counting_allocator<U>& other) : of(other.of) {}
  T* allocate(std::size_t n) {
    ++of->allocated;
    ++of->alive;
    return std::allocator<T>{}.allocate(n);
  }
  void deallocate(T* p, std::size_t n) {
    --of->alive;
    std::allocator<T>{}.deallocate(p, n);
  }
  friend bool operator==(const counting_allocator&, const counting_allocator&) = default;
  std::shared_ptr<counts> of;
};

TEST_P(Asio, MemoryComesFromTheAllocatorOfTheHandler) {
  const auto count = std::make_shared<counts>();
  std::size_t alive = 99;
  gate held{s};
  async_wait(io, s.completion(),
             asio::bind_allocator(counting_allocator<int>{count},
                                  [&, only = std::make_unique<int>(1)](std::exception_ptr) {
                                    alive = count->alive;
                                  }));
  EXPECT_EQ(count->allocated, 1U);
  held.open();
  io.run();
  EXPECT_EQ(alive, 0U);
  EXPECT_LE(count->allocated, 2U);  // the second is the executor's
}

TEST_P(Asio, AsyncWaitIsAllowedDuringACapture) {
  stream t{gpu};
  gate held{s};
  const completion c = s.completion();
  bool called = false;
  begin_capture(t, capture_options{.mode = capture_mode::global});
  const sync_guard none{sync_rule::forbidden};
  async_wait(io, c, [&](const std::exception_ptr&) { called = true; });
  held.open();
  io.run();
  EXPECT_TRUE(called);
  static_cast<void>(end_capture(t));
}

// The streams are destroyed before the waits end or after.
TEST_P(Asio, WaitsOutliveTheirStreams) {
  int called = 0;
  for (int i = 0; i < 20; ++i) {
    const stream t{gpu};
    buffer<int> x{t, 1};
    fill(t, x, i);
    async_wait(io, t.completion(), [&](std::exception_ptr failure) {
      EXPECT_EQ(failure, nullptr);
      ++called;
    });
  }
  io.run();
  EXPECT_EQ(called, 20);
}

}  // namespace
}  // namespace weir
