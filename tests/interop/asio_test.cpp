// asio_test.cpp - completions in the ways of Asio: tokens, executors, failures, memory.
#include <weir/interop/asio.hpp>

#include <weir/allow_sync.hpp>
#include <weir/buffer.hpp>
#include <weir/capture.hpp>
#include <weir/device.hpp>
#include <weir/fill.hpp>
#include <weir/future.hpp>
#include <weir/graph.hpp>
#include <weir/host_function.hpp>
#include <weir/launch.hpp>
#include <weir/pinned_buffer.hpp>
#include <weir/program.hpp>
#include <weir/stream.hpp>

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
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "driver/failing.hpp"
#include "support/child.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::failing_table;
using test::gate;
using test::result_of;
using namespace std::chrono_literals;

// Once as it comes, and once with a table over the driver's, where points are events that are asked.
class Asio : public ::testing::TestWithParam<bool> {
 protected:
  Asio() {
    if (GetParam()) calls.emplace();
  }

  device gpu;
  std::optional<failing_table> calls;
  stream s{gpu};
  asio::io_context io;
};

INSTANTIATE_TEST_SUITE_P(Ways, Asio, ::testing::Values(false, true),
                         [](const auto& way) { return way.param ? "Asked" : "AsItComes"; });

TEST_P(Asio, ACallbackIsCalledThroughTheExecutorThatIsGiven) {
  std::thread::id there;
  gate held{s};
  async_wait(io, s.completion(), [&](std::exception_ptr failure) {
    EXPECT_EQ(failure, nullptr);
    there = std::this_thread::get_id();
  });
  EXPECT_EQ(io.poll(), 0U);
  held.open();
  EXPECT_EQ(io.run(), 1U);  // which does not run out of work before
  EXPECT_EQ(there, std::this_thread::get_id());
}

TEST_P(Asio, ACallbacksOwnExecutorGoesFirst) {
  asio::io_context other;
  bool called = false;
  gate held{s};
  async_wait(other, s.completion(), asio::bind_executor(io, [&](std::exception_ptr) { called = true; }));
  held.open();
  EXPECT_EQ(other.run(), 0U);
  EXPECT_EQ(io.run(), 1U);
  EXPECT_TRUE(called);
}

TEST_P(Asio, ACallbackWithoutAnExecutorIsCalledByTheReactor) {
  std::promise<std::thread::id> there;
  std::future<std::thread::id> called = there.get_future();
  gate held{s};
  async_wait(s.completion(), [&](std::exception_ptr) { there.set_value(std::this_thread::get_id()); });
  EXPECT_EQ(called.wait_for(0s), std::future_status::timeout);
  held.open();
  EXPECT_NE(called.get(), std::this_thread::get_id());
}

// Of nothing, and of what is done: told later all the same.
TEST_P(Asio, IsNeverCalledInsideOfTheWait) {
  const completion done = s.completion();
  done.wait();
  for (const completion& c : {completion{}, done}) {
    bool called = false;
    async_wait(io, c, [&](std::exception_ptr) { called = true; });
    EXPECT_FALSE(called);
    io.run();
    EXPECT_TRUE(called);
    io.restart();

    std::promise<std::thread::id> there;
    async_wait(c, [&](std::exception_ptr) { there.set_value(std::this_thread::get_id()); });
    EXPECT_NE(there.get_future().get(), std::this_thread::get_id());
  }
}

TEST_P(Asio, AnAwaitableComesAfterTheWork) {
  pinned_buffer<int> x{1};
  x.data()[0] = 0;
  gate held{s};
  const auto work = [&](std::thread::id& there) -> asio::awaitable<int> {
    fill(s, x, 3);
    co_await async_wait(s.completion(), asio::use_awaitable);
    const int seen = x.data()[0];
    fill(s, x, 4);
    co_await async_wait(s.completion(), asio::use_awaitable);
    there = std::this_thread::get_id();
    co_return seen * 10 + x.data()[0];
  };
  std::thread::id there;
  std::future<int> answer = asio::co_spawn(io, work(there), asio::use_future);
  io.poll();
  held.open();
  io.run();
  EXPECT_EQ(answer.get(), 34);
  EXPECT_EQ(there, std::this_thread::get_id());
}

TEST_P(Asio, AFutureIsReady) {
  gate held{s};
  std::future<void> end = async_wait(s.completion(), asio::use_future);
  EXPECT_EQ(end.wait_for(0s), std::future_status::timeout);
  held.open();
  end.get();
}

TEST_P(Asio, ADeferredWaitBeginsWhenItIsCalled) {
  gate held{s};
  auto later = async_wait(s.completion(), asio::experimental::deferred);
  held.open();
  s.sync();
  bool called = false;
  std::move(later)(asio::bind_executor(io, [&](std::exception_ptr) { called = true; }));
  io.run();
  EXPECT_TRUE(called);
}

TEST_P(Asio, ADetachedWaitKeepsItsContextAtWork) {
  gate held{s};
  async_wait(io, s.completion(), asio::detached);
  held.open();
  io.run();
}

TEST_P(Asio, AStrandIsKeptTo) {
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

TEST_P(Asio, ExecutorsOfTheOldKindServeToo) {
  asio::io_context::strand strand{io};
  bool inside = false;
  gate held{s};
  async_wait(strand, s.completion(), [&](std::exception_ptr) { inside = strand.running_in_this_thread(); });
  held.open();
  io.run();
  EXPECT_TRUE(inside);
}

TEST_P(Asio, ManyWaitAtOnce) {
  constexpr int streams = 8;
  constexpr int waits = 500;
  asio::thread_pool pool{2};
  std::atomic<int> told{0};
  std::vector<stream> all;
  std::vector<std::unique_ptr<gate>> held;
  for (int i = 0; i < streams; ++i) {
    all.emplace_back(gpu);
    held.push_back(std::make_unique<gate>(all.back()));
    for (int k = 0; k < waits; ++k) async_wait(pool, all.back().completion(), [&](std::exception_ptr) { ++told; });
  }
  for (int i = streams; i-- > 0;) held[i]->open();
  pool.join();
  EXPECT_EQ(told, streams * waits);
}

asio::awaitable<void> wait_often(stream_ref s, int times, std::atomic<int>& done) {
  for (int i = 0; i < times; ++i) {
    buffer<int> x{s, 1};
    fill(s, x, i);
    co_await async_wait(s.completion(), asio::use_awaitable);
  }
  ++done;
}

TEST_P(Asio, CoroutinesOnSeveralThreads) {
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

TEST_P(Asio, GivesWhatAHostFunctionHasThrown) {
  gate held{s};
  launch_host(s, [] { throw std::runtime_error{"thrown in a host function"}; });
  std::future<void> end = async_wait(s.completion(), asio::use_future);
  held.open();
  EXPECT_THROW(end.get(), std::runtime_error);
}

// A handler is moved and never copied; its memory comes from its allocator, and is there no more when it is called.
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

TEST_P(Asio, MemoryComesFromTheHandlersAllocator) {
  const auto count = std::make_shared<counts>();
  std::size_t alive = 99;
  gate held{s};
  async_wait(io, s.completion(),
             asio::bind_allocator(counting_allocator<int>{count},
                                  [&, only = std::make_unique<int>(1)](std::exception_ptr) { alive = count->alive; }));
  EXPECT_EQ(count->allocated, 1U);
  held.open();
  io.run();
  EXPECT_EQ(alive, 0U);
  EXPECT_LE(count->allocated, 2U);  // the executor's part is the second
}

TEST_P(Asio, IsAllowedBesideCaptures) {
  stream t{gpu};
  gate held{s};
  const completion c = s.completion();
  bool called = false;
  begin_capture(t, capture_options{.mode = capture_mode::global});
  const allow_sync none{false};
  async_wait(io, c, [&](const std::exception_ptr&) { called = true; });
  held.open();
  io.run();
  EXPECT_TRUE(called);
  static_cast<void>(end_capture(t));
}

// A fault fails every wait with the device's code, as weir's own exception.
bool all_waits_fail(bool asked) {
  const device gpu;
  const kernel store = program{R"(extern "C" __global__ void store(int* x) { *x = 1; })"}.compile(gpu).kernel("store");
  std::optional<failing_table> calls;
  if (asked) calls.emplace();
  stream s{gpu};
  asio::io_context io;
  gate held{s};
  launch(s, grid(1, 1), store, static_cast<int*>(nullptr));
  int failed = 0;
  for (int i = 0; i < 100; ++i) {
    asio::co_spawn(
        io,
        [&, c = s.completion()]() -> asio::awaitable<void> {
          try {
            co_await async_wait(c, asio::use_awaitable);
          } catch (const error& e) {
            if (e.result() == errc::illegal_address && e.where().line() != 0) ++failed;
          }
        },
        asio::detached);
  }
  std::future<void> end = async_wait(s.completion(), asio::use_future);
  io.poll();
  held.open();
  io.run();
  return WEIR_HOLDS(failed == 100) && WEIR_HOLDS(result_of([&] { end.get(); }) == errc::illegal_address);
}

TEST(AsioEnd, AFaultFailsAllWaits) {
  test::in_a_fresh_process([] { return all_waits_fail(false); });
}

TEST(AsioEnd, AFaultFailsAllWaitsThatAreAsked) {
  test::in_a_fresh_process([] { return all_waits_fail(true); });
}

}  // namespace
}  // namespace weir
